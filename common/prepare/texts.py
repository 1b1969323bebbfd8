"""The texts a preparation is checked with: Portuguese, English and Spanish, short and long, prose, lists and code."""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Sample:
    """A text and the side it is embedded for."""

    role: Literal["query", "passage"]
    text: str


_PORTUGUESE: Final = (
    "Qual é o prazo para pedir reembolso de uma despesa de viagem?",
    "O reembolso deve ser solicitado em até trinta dias corridos após o retorno, com as notas fiscais anexadas.",
    "A política de férias permite dividir o período em até três partes, desde que uma delas tenha catorze dias.",
    "Para redefinir a senha, abra Configurações → Segurança e escolha “Esqueci minha senha”.",
    "Erro 504: o servidor não respondeu dentro do tempo limite configurado no balanceador.",
    "Como faço para exportar o relatório mensal em PDF?",
    "O contrato nº 11.522/2024 foi assinado em São Paulo no dia 3 de março de 2024, às 14h30.",
    "A fotossíntese converte energia luminosa em energia química, armazenada em moléculas de glicose.",
    "Pão de queijo: 500 g de polvilho azedo, 2 ovos, 1 xícara de leite, ½ xícara de óleo e queijo meia cura ralado.",
    "O gato dorme.",
    "Em caso de incêndio, use as escadas; nunca utilize o elevador. O ponto de encontro fica no estacionamento B.",
    "Quem foi o primeiro presidente eleito depois da redemocratização?",
    "A coleta seletiva passa às terças e quintas; vidro deve ser embalado em jornal e identificado com etiqueta.",
    "Nosso serviço de atendimento funciona de segunda a sexta, das 8h às 18h, exceto feriados nacionais e municipais.",
    "A taxa de juros incide sobre o saldo devedor e é calculada pro rata die, conforme a cláusula sétima.",
    "Não é permitido o uso de celular nas áreas de produção, salvo autorização expressa do supervisor de turno.",
    (
        "O rio Amazonas nasce nos Andes peruanos, percorre mais de seis mil quilômetros e deságua no oceano Atlântico, "
        "lançando em média duzentos mil metros cúbicos de água por segundo; sua bacia cobre cerca de sete milhões de "
        "quilômetros quadrados e abriga a maior floresta tropical do planeta, com milhares de espécies sem descrição."
    ),
    "Posso devolver um produto comprado na loja física pelo correio?",
    "Tabela de frete: até 1 kg, R$ 12,90; de 1 kg a 5 kg, R$ 24,50; acima de 5 kg, sob consulta.",
    "Instale a dependência com `pip install fichario` e execute `fichario up --port 8765`.",
)
_ENGLISH: Final = (
    "How do I rotate the signing key without downtime?",
    (
        "Publish the new key in the key set first, wait until every cache has expired, then sign with it and retire "
        "the old one a day later."
    ),
    "The quick brown fox jumps over the lazy dog.",
    "hello world",
    "def area(radius: float) -> float:\n    return 3.14159 * radius ** 2",
    "What is the maximum size of an attachment?",
    "Refunds are issued to the original payment method within five to ten business days of approval.",
    "SELECT name, COUNT(*) FROM orders WHERE created_at >= '2024-01-01' GROUP BY name HAVING COUNT(*) > 3;",
    "The mitochondrion produces most of the cell's supply of adenosine triphosphate, used as chemical energy.",
    "Warning: disconnect the power supply before opening the case; capacitors may hold a charge for several minutes.",
    "Release 2.4.1 fixes a race in the scheduler, raises the default timeout to 30 s and drops support for TLS 1.1.",
    "Which countries border Switzerland?",
    (
        "Employees accrue 1.25 days of paid leave per month. Unused days carry over until 31 March of the next year, "
        "after which they lapse, unless the manager confirmed in writing that operational needs prevented their use. "
        "Part-time staff accrue leave in proportion to their contracted hours, rounded up to the nearest half day."
    ),
    "GET /v1/bases/{base}/documents returns 404 when the base does not exist.",
    "A monad is just a monoid in the category of endofunctors.",
)
_SPANISH: Final = (
    "¿Cuánto tarda en llegar un pedido a las islas Canarias?",
    "Los envíos a Canarias tardan entre siete y diez días hábiles y pueden estar sujetos a trámites de aduana.",
    "La garantía cubre defectos de fabricación durante dos años; no cubre daños por agua ni por uso indebido.",
    "El niño comió una manzana roja en el jardín de su abuela.",
    "¿Dónde puedo consultar mis facturas anteriores?",
    "La Revolución Mexicana comenzó en 1910 y puso fin a más de tres décadas de gobierno de Porfirio Díaz.",
    "Para cancelar la suscripción, entre en «Mi cuenta», pulse «Plan» y confirme la baja antes del día 25 del mes.",
    "El agua hierve a 100 °C al nivel del mar, pero a menor temperatura en la montaña.",
    "Horario de verano: lunes a jueves de 7:30 a 15:00; viernes, de 8:00 a 14:00. En agosto la oficina está cerrada.",
    "¿Qué documentos necesito para matricular a mi hija?",
    "El comité aprobó el presupuesto por unanimidad: 1.250.000 € para obras y 380.000 € para mantenimiento.",
    "Si el dispositivo no enciende, mantenga pulsado el botón durante diez segundos y conéctelo al cargador original.",
    (
        "La paella valenciana lleva arroz, pollo, conejo, judía verde, garrofó, tomate, azafrán y aceite de oliva; ni "
        "cebolla ni chorizo. Se cocina a fuego vivo los primeros minutos y después a fuego lento, sin remover, "
        "hasta que se forma en el fondo una capa tostada que se conoce como socarrat y que muchos consideran lo mejor."
    ),
    "La contraseña debe tener al menos doce caracteres, una mayúscula, un número y un símbolo.",
    "Gracias por su visita.",
)

SAMPLES: Final = tuple(
    Sample("query" if text.endswith("?") else "passage", text) for text in (*_PORTUGUESE, *_ENGLISH, *_SPANISH)
)
# Where the reference cannot run, these positions of SAMPLES are compared with vectors kept in `pinned`.
PINNED: Final = (0, 1, 9, 16, 20, 24, 35, 36)
CANONICAL: Final = (Sample("passage", "hello world"), Sample("query", "Qual é o prazo para pedir reembolso?"))
