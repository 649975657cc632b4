"""Real sentences: a tokenizer of a corpus, a few steps of training, BLEU of the references against themselves."""
import gzip

import libtransformer as tfm


def lines(data, name, n):
    with gzip.open(data / "multi30k" / "raw" / f"{name}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for _, line in zip(range(n), file)]


def test_multi30k(data):
    english, german = lines(data, "val.en", 500), lines(data, "val.de", 500)
    tokenizer = tfm.Tokenizer.learn(english + german, vocab_size=2000)
    for line in english + german:
        assert tokenizer.decode(tokenizer.encode(line)) == line
    with tfm.Trainer(tfm.Model.create(tokenizer, "tiny"), max_steps=8, warmup=8, batch_tokens=500, seed=3) as trainer:
        report = trainer.set_data(english, german)
        assert report.pairs == 500 and report.unknown == 0
        losses = [metrics.loss for metrics in trainer if metrics.event == tfm.Event.STEP]
        assert losses[-1] < losses[0]
        with tfm.Translator(trainer.model(), max_length=20, beam=2) as translator:
            assert len(translator.translate(english[:10])) == 10
    assert tfm.bleu(german, german).score > 99.99 > tfm.bleu(german, german[1:] + german[:1]).score
