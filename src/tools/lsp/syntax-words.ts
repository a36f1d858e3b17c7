/** Words in syntaxes that are placeholders. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(
  `address alg argument bytes byte channel charset1 charset2 CIDR code column command condition connections cookie days dir domain dsn endpoint entries expression
  extension field file flag format function host identifier issuer JWK key kid level level1 level2 level3 letter digit method mime-type name reason rule
  NAME number origin parameter part password path port protocol rate realm redirect regex replacement response role schema secret
  set size string text time timeout header_timeout type uri url URL user group value variable word zone`.split(
    /\s+/,
  ),
);

const GROUP = /\[([^[\]]*\|[^[\]]*)\]/g;

/** The literal words of a syntax: `on` and `off` of `on | off`, `zone=` of `zone=name:size`. */
export function wordsOf(syntax: string): readonly string[] {
  const groups: string[] = [];
  const rest = syntax.replace(/\{.*\}/s, ' ').replace(GROUP, (group, inside: string) => {
    const words = inside.split('|').map((word) => word.trim());
    if (!isListOfNames(words)) return group;
    groups.push(...withKey(words));
    return ' ';
  });
  const words = rest.split(/\s+/).flatMap((word) => partsOf(word.replace(/^[[("]+/, '')));
  const literal = words.filter(
    (word) => /[:=]$/.test(word) || (/^[A-Za-z]/.test(word) && !isPlaceholder(word)),
  );
  return [...new Set([...literal, ...groups])];
}

/** True if most words of a choice are literals, so that all are: `[last | break | redirect | permanent]`. */
function isListOfNames(words: readonly string[]): boolean {
  const literal = words.filter((word) => /^[\w.-]+(?:=[\w-]+)?$/.test(word) && !isPlaceholder(word));
  return (
    literal.length > words.length / 2 && words.every((word) => /^[\w.=-]+$/.test(word) && !isParameter(word))
  );
}

/** `delay=number`. */
function isParameter(word: string): boolean {
  return isPlaceholder(word.replace(/^.*=/, '')) && word.includes('=');
}

/** `escape=default | json` is `escape=default` and `escape=json`. */
function withKey(words: readonly string[]): readonly string[] {
  const key = /^[\w-]+=/.exec(words[0] ?? '')?.[0] ?? '';
  return words.map((word) => (word.startsWith(key) ? word : key + word));
}

/** `engine=uws|node]` is two words; `zone=name:size` one without its end. */
function partsOf(word: string): readonly string[] {
  const [, key, values] = /^([A-Za-z][\w.-]*[=:])(.*?)\]*$/.exec(word) ?? [];
  if (key === undefined || values === undefined) return [word.replace(/[\])",;[].*$/, '')];
  const names = values.split('|');
  return names.every((name) => /^[a-z]+$/.test(name) && !isPlaceholder(name))
    ? names.map((name) => key + name)
    : [key];
}

function isPlaceholder(word: string): boolean {
  return PLACEHOLDERS.has(word.replace(/\.$/, ''));
}
