"""The languages of Whisper, which a tokenizer_config.json names by a code or by its English names."""

from __future__ import annotations

_NAMES = """
en=english, zh=chinese|mandarin, de=german, es=spanish|castilian, ru=russian, ko=korean, fr=french, ja=japanese,
pt=portuguese, tr=turkish, pl=polish, ca=catalan|valencian, nl=dutch|flemish, ar=arabic, sv=swedish, it=italian,
id=indonesian, hi=hindi, fi=finnish, vi=vietnamese, he=hebrew, uk=ukrainian, el=greek, ms=malay, cs=czech,
ro=romanian|moldavian|moldovan, da=danish, hu=hungarian, ta=tamil, no=norwegian, th=thai, ur=urdu, hr=croatian,
bg=bulgarian, lt=lithuanian, la=latin, mi=maori, ml=malayalam, cy=welsh, sk=slovak, te=telugu, fa=persian, lv=latvian,
bn=bengali, sr=serbian, az=azerbaijani, sl=slovenian, kn=kannada, et=estonian, mk=macedonian, br=breton, eu=basque,
is=icelandic, hy=armenian, ne=nepali, mn=mongolian, bs=bosnian, kk=kazakh, sq=albanian, sw=swahili, gl=galician,
mr=marathi, pa=punjabi|panjabi, si=sinhala|sinhalese, km=khmer, sn=shona, yo=yoruba, so=somali, af=afrikaans,
oc=occitan, ka=georgian, be=belarusian, tg=tajik, sd=sindhi, gu=gujarati, am=amharic, yi=yiddish, lo=lao, uz=uzbek,
fo=faroese, ht=haitian creole|haitian, ps=pashto|pushto, tk=turkmen, nn=nynorsk, mt=maltese, sa=sanskrit,
lb=luxembourgish|letzeburgesch, my=myanmar|burmese, bo=tibetan, tl=tagalog, mg=malagasy, as=assamese, tt=tatar,
haw=hawaiian, ln=lingala, ha=hausa, ba=bashkir, jw=javanese, su=sundanese, yue=cantonese
"""
CODES = {
    name: code
    for code, names in (each.split("=") for each in " ".join(_NAMES.split("\n")).strip().split(", "))
    for name in names.split("|")
}
