const MAX_LENGTH = 2048;

const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
const EMAIL = /^[^\s@"]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+$/i;
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const IPV6_CHARACTERS = /^[0-9a-f:.]{2,45}$/i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const isDate = (text: string): boolean => DATE.test(text) && new Date(text).toISOString().startsWith(text);

/** All patterns run in linear time. */
const FORMAT_PREDICATES: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => isDate(text.slice(0, 10)) && /^[Tt ]$/.test(text[10] ?? '') && TIME.test(text.slice(11)),
  date: isDate,
  time: (text) => TIME.test(text),
  email: (text) => EMAIL.test(text),
  ipv4: (text) => IPV4.test(text),
  ipv6: (text) => IPV6_CHARACTERS.test(text) && URL.canParse(`http://[${text}]`),
  uri: (text) => URL.canParse(text),
  uuid: (text) => UUID.test(text),
};

/** JSON Schema: unknown formats are ignored. */
export const matchesFormat = (format: string, text: string): boolean => {
  const isRight = Object.hasOwn(FORMAT_PREDICATES, format) ? FORMAT_PREDICATES[format] : undefined;
  return isRight === undefined || (text.length <= MAX_LENGTH && isRight(text));
};
