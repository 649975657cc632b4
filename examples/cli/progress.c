/* Shows a training while it runs: a bar on a terminal, plain lines elsewhere, every event in a CSV file. */
#include "progress.h"
#include "console.h"
#include "text_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const double LINE_SECONDS = 5, BAR_SECONDS = 0.1;
static const char CSV_HEADER[] =
    "event,step,epoch,seconds,loss,nll,learning_rate,gradient_norm,source_tokens,target_tokens,"
    "tokens_per_s,valid_nll,valid_perplexity,valid_bleu\n";

bool progress_open(progress *p, const char *log_path, bool append)
{
    *p = (progress){.log_path = log_path, .shown_at = -1};
    if (!log_path) return true;
    p->log = csv_open(log_path, append, CSV_HEADER);
    return p->log != NULL;
}

bool progress_close(progress *p)
{
    if (!p->log) return true;
    errno = EIO;
    const bool bad = ferror(p->log) | (fclose(p->log) != 0);
    p->log = NULL;
    if (bad) console_fail("cannot write all of %s: %s", p->log_path, strerror(errno));
    return !bad;
}

static void write_csv(progress *p, const tfm_progress *e)
{
    static const char *const names[] = {"step", "epoch", "valid", "checkpoint", "done"};
    if (!p->log || e->event >= sizeof names / sizeof *names) return;
    fprintf(p->log, "%s,%llu,%llu,%.3f,", names[e->event], (unsigned long long)e->step, (unsigned long long)e->epoch,
            e->seconds);
    if (e->event == TFM_EVENT_STEP)
        fprintf(p->log, "%.9g,%.9g,%.9g,%.9g,%llu,%llu,%.1f,,,\n", e->loss, e->nll, e->learning_rate, e->gradient_norm,
                (unsigned long long)e->source_tokens, (unsigned long long)e->target_tokens, e->tokens_per_s);
    else if (e->event == TFM_EVENT_VALID && e->valid_bleu >= 0)
        fprintf(p->log, ",,,,,,,%.9g,%.9g,%.4f\n", e->valid_nll, e->valid_perplexity, e->valid_bleu);
    else if (e->event == TFM_EVENT_VALID) fprintf(p->log, ",,,,,,,%.9g,%.9g,\n", e->valid_nll, e->valid_perplexity);
    else fprintf(p->log, ",,,,,,,,,\n");
    if (e->event != TFM_EVENT_STEP) fflush(p->log);
}

static void add_step(progress *p, const tfm_progress *e)
{
    const double keep = 0.95, tokens = (double)e->target_tokens;
    p->last = *e;
    p->last.path = p->last.message = NULL;
    if (!isfinite(e->loss) || !isfinite(e->nll)) return; /* skipped: no part of the mean */
    p->tokens = keep * p->tokens + tokens;
    p->loss = keep * p->loss + tokens * e->loss;
    p->nll = keep * p->nll + tokens * e->nll;
}

/* "step 1200/8000  15%  loss 4.12  ppl 23.1  12345 tok/s  rate 1.2e-03  0:35, 3:20 left" */
static void format_step(const progress *p, const tfm_progress *e, char *out, size_t size)
{
    char total[64] = "", left[64] = "", time[32], time_left[32];
    if (e->steps_total > 0)
        snprintf(total, sizeof total, "/%llu %3.0f%%", (unsigned long long)e->steps_total,
                 100.0 * (double)e->step / (double)e->steps_total);
    if (e->seconds_left >= 0) snprintf(left, sizeof left, ", %s left", format_seconds(time_left, e->seconds_left));
    const double tokens = p->tokens > 0 ? p->tokens : 1;
    snprintf(out, size, "step %llu%s  loss %.3f  ppl %.4g  %.0f tok/s  rate %.2e  %s%s", (unsigned long long)e->step,
             total, p->loss / tokens, exp(p->nll / tokens), e->tokens_per_s, e->learning_rate,
             format_seconds(time, e->seconds), left);
}

/* A share of 0..1 as "[=====>    ] " of that many columns; empty when there is no room. */
static void format_bar(char *out, double share, size_t columns)
{
    *out = 0;
    if (columns < 10) return;
    const size_t inner = columns - 3;
    const double within = share < 0 ? 0 : share > 1 ? 1 : share;
    const size_t full = (size_t)(within * (double)inner);
    *out++ = '[';
    for (size_t i = 0; i < inner; i++) *out++ = i < full ? '=' : i == full ? '>' : ' ';
    strcpy(out, "] ");
}

static void show_bar(const tfm_progress *e, const char *text)
{
    enum { WIDEST = 32 };
    char bar[WIDEST + 1];
    const size_t columns = console_columns() - 1, length = strlen(text);
    size_t room = columns > length ? columns - length : 0;
    if (e->steps_total == 0) room = 0;
    format_bar(bar, (double)e->step / (double)(e->steps_total ? e->steps_total : 1), room < WIDEST ? room : WIDEST);
    console_status("%s%.*s", bar, (int)columns, text);
}

static void show_step(progress *p, bool at_end)
{
    char text[256];
    const double now = clock_seconds();
    const bool bar = console_is_terminal() && !at_end;
    if (!at_end && p->shown_at >= 0 && now - p->shown_at < (bar ? BAR_SECONDS : LINE_SECONDS)) return;
    if (at_end && p->shown_step == p->last.step && !console_is_terminal()) return;
    p->shown_at = now;
    p->shown_step = p->last.step;
    if (p->log) fflush(p->log);
    format_step(p, &p->last, text, sizeof text);
    if (bar) show_bar(&p->last, text);
    else console_say("%s", text);
}

static void show_valid(const tfm_progress *e)
{
    char bleu[64] = "";
    if (e->valid_bleu >= 0) snprintf(bleu, sizeof bleu, "  BLEU %.2f (tokenize none)", e->valid_bleu);
    console_say("validation at step %llu (epoch %llu)  nll %.4f  ppl %.4g%s", (unsigned long long)e->step,
                (unsigned long long)e->epoch, e->valid_nll, e->valid_perplexity, bleu);
}

void progress_event(progress *p, const tfm_progress *e)
{
    write_csv(p, e);
    p->step = e->step;
    switch (e->event) {
    case TFM_EVENT_STEP:
        add_step(p, e);
        show_step(p, false);
        break;
    case TFM_EVENT_VALID:
        show_valid(e);
        break;
    case TFM_EVENT_CHECKPOINT:
        snprintf(p->checkpoint, sizeof p->checkpoint, "%s", e->path ? e->path : "");
        break;
    case TFM_EVENT_DONE:
        if (p->tokens > 0) show_step(p, true);
        snprintf(p->reason, sizeof p->reason, "%s", e->message ? e->message : "");
        break;
    default:
        break;
    }
}
