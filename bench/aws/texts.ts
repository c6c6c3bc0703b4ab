export type Text = (bytes: number) => string;

/** Ordinary words compress about as well as real messages. */
const WORDS =
  `the a of and to in is that for it as was with be by on not this are from at which or an have they one had but all were
when there can more if no out so said what up its about than into them only some could time these two may then do first any now such
like other how also after most where must before through back years should because good each those people between still never
under last right against house during without again place around however work small found school part once general high upon part
group problem service agent report task result system request server network address version update patch release window access
account password user browser vendor product library package kernel driver firmware router switch firewall gateway proxy tunnel
certificate signature token session cookie header payload buffer overflow memory pointer stack heap process thread timeout retry
queue message event record table index query write read store cache disk file folder backup restore archive log metric alarm
threshold average percent hour minute morning evening yesterday today week month quarter budget invoice customer meeting draft
reply subject attachment sender recipient forward urgent summary detail finding evidence source confidence severity critical
medium low exploit attacker victim campaign malware phishing credential leak breach incident response contain eradicate recover
review approve reject pending complete failed expired cancelled assigned owner region cluster node replica leader follower
latency throughput capacity forecast weather storm rain wind temperature market price share growth decline earnings analyst
research paper author method experiment measure compare suggest confirm deny require allow avoid increase reduce improve
replace remove create describe explain consider expect remain appear continue change move turn start show hear play run believe
bring happen provide sit stand lose pay meet include learn lead understand watch follow stop speak spend grow open walk win offer
remember love buy wait serve die send build stay fall cut reach kill raise pass sell decide return hope develop carry break
receive agree support hit produce eat cover catch draw choose cause point listen realize place close involve`
    .split(/\s+/)
    .filter((word, index, all) => all.indexOf(word) === index);

/** Mulberry32, a seeded generator. */
const numbersFrom = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};

const SHORTEST_SENTENCE = 5;
const LONGEST_SENTENCE = 18;

export const sentences = (seed: number): Text => {
  const next = numbersFrom(seed);
  const upTo = (most: number): number => Math.floor(next() * most);
  const sentence = (): string => {
    const length = SHORTEST_SENTENCE + upTo(LONGEST_SENTENCE - SHORTEST_SENTENCE);
    const words = Array.from({ length }, () => WORDS[upTo(WORDS.length)] ?? '').join(' ');
    return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
  };
  return (bytes) => {
    let text = sentence();
    while (text.length < bytes) text += ` ${sentence()}`;
    return text.slice(0, bytes);
  };
};

/** Compresses to no less than 75 %, which is the share that base64 adds. */
export const noise = (seed: number): Text => {
  const next = numbersFrom(seed);
  return (bytes) => {
    const random = Buffer.from(Array.from({ length: bytes }, () => Math.floor(next() * 256)));
    return random.toString('base64').slice(0, bytes);
  };
};
