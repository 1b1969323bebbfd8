"""The function words of Portuguese, English and Spanish that a question drops when it holds a word of its own.
One union for all three, already folded, so that no language has to be guessed.
"""

from typing import Final

# A word that carries meaning in one of the three languages is left out of the others' rows ("son", "era", "todo",
# "sin"): its document frequency already makes it light where it is common.
_PORTUGUESE: Final = """
a o as os um uma uns umas ao aos da do das dos de em na no nas nos num numa por pela pelo pelas pelos para pra com sem
e ou que se qual quais quem como quando onde porque sao foi foram ser esta estao estava
ha tem sua seu suas seus ele ela eles elas isso isto esse essa esses essas este estes estas aquele aquela lhe lhes
mas mais muito tambem ja nem nao cujo cuja voce eu meu minha nos
"""

_ENGLISH: Final = """
a an the of in on at to for by with from and or that which who whom whose what when where why how is are was were be
been being am do does did done has have had it its this these those their they them he she his her him we our us
you your i my me as if than then so not no nor but can could will would
s t d ll re ve don doesn didn isn aren wasn weren
"""

_SPANISH: Final = """
a al el la los las lo un una unos unas de del en por para con y e o u que se cual cuales quien quienes como cuando
donde porque es fue fueron ser esta estan estaba hay tiene tienen su sus ese esa esos
esas este estos estas esto eso aquel aquella le les pero mas muy tambien ya ni no si cuyo cuya
yo mi tu ha han
"""

STOP_WORDS: Final[frozenset[str]] = frozenset((_PORTUGUESE + _ENGLISH + _SPANISH).split())
