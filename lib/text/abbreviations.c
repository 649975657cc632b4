/* Words after which a full stop belongs to the word: the lists that Moses ships as nonbreaking_prefix. */
#include "text/pretokenize.h"

/* Between spaces. Each capital letter is one more; in German and French each small one, but not the French word a; in
 * German 1 to 99. */
static const char english[] =
    " Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Drs Ens Gen Gov Hon Hr Hosp Insp "
    "Lt MM MR MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc "
    "Sgt Sr St Supt Surg v vs i.e rev e.g Rs Nos Nr Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec ";
static const char english_numeric[] = " No Art pp ";
static const char german[] =
    " II III IV VI VII VIII IX XI XII XIII XIV XV XVI XVII XVIII XIX XX ii iii iv vi vii viii ix xi xii xiii xiv "
    "xv xvi xvii xviii xix xx Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Ens Gen "
    "Gov Hon Hosp Insp Lt MM MR MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev "
    "Rt Sen Sens Sfc Sgt Sr St Supt Surg Mio Mrd bzw vs usw d.h z.B u.a etc MwSt ggf d.J D.h m.E vgl I.F z.T "
    "sogen ff u.E g.U g.g.A c.-\xC3\xA0-d Buchst u.s.w sog u.\xC3\xA4 Std evtl Zt Chr u.U o.\xC3\xA4 Ltd b.A z.Zt "
    "spp sen SA k.o jun i.H.v dgl dergl Co zzt usf s.p.a Dkr bzgl BSE No Nos Art Nr pp ca Ca ";
static const char french[] =
    " A.C.N A.M art ann apr av auj lib B.P boul ca c.-\xC3\xA0-d cf ch.-l chap contr C.P.I C.Q.F.D C.N C.N.S C.S "
    "dir \xC3\xA9" "d e.g env al etc E.V ex fasc f\xC3\xA9m fig fr hab ibid id i.e inf LL.AA LL.AA.II LL.AA.RR "
    "LL.AA.SS L.D LL.EE LL.MM LL.MM.II.RR loc.cit masc MM ms N.B N.D.A N.D.L.R N.D.T n/r\xC3\xA9" "f NN.SS N.S "
    "N.D N.P.A.I p.c.c pl pp p.ex p.j P.S R.A.S R.-V R.P R.I.P SS S.S S.A S.A.I S.A.R S.A.S S.E sec sect sing S.M "
    "S.M.I.R sq sqq suiv sup suppl t\xC3\xA9l T.S.V.P vb vol vs X.O Z.I ";

static bool is_listed(const char *list, tfm_text word)
{
    enum { LONGEST = 16 };
    char key[LONGEST + 3] = " ";

    if (!word.size || word.size > LONGEST) return false;
    memcpy(key + 1, word.data, word.size);
    key[word.size + 1] = ' ';
    return strstr(list, key) != NULL;
}

static bool is_initial(uint32_t language, tfm_text word)
{
    const char c = word.data[0];

    if (word.size != 1) return false;
    if (c >= 'A' && c <= 'Z') return true;
    return language != TFM_LANGUAGE_ENGLISH && c >= (language == TFM_LANGUAGE_FRENCH ? 'b' : 'a') && c <= 'z';
}

/* 1 to 99: in German an ordinal. */
static bool is_ordinal(tfm_text word)
{
    if (word.size < 1 || word.size > 2 || word.data[0] < '1') return false;
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] < '0' || word.data[i] > '9') return false;
    return true;
}

int tfm_abbreviation(uint32_t language, tfm_text word)
{
    static const char *const lists[] = {english, german, french};

    if (is_initial(language, word) || is_listed(lists[language], word)) return TFM_ABBREVIATION;
    if (language == TFM_LANGUAGE_GERMAN && is_ordinal(word)) return TFM_ABBREVIATION;
    if (language == TFM_LANGUAGE_ENGLISH && is_listed(english_numeric, word)) return TFM_ABBREVIATION_BEFORE_DIGIT;
    return TFM_NO_ABBREVIATION;
}
