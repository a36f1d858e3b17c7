/** A pattern of a configuration, and the texts that keep a backtracking engine busy with it. */
export interface RegexAttack {
  readonly pattern: string;
  /** The beginning of the text, the part that is repeated up to its length, and the end. */
  readonly pumped: readonly (readonly [before: string, repeated: string, after: string])[];
  /** Neither of V8's engines can match every text of a URL's usual length: `gw check` says so. */
  readonly isSlow?: true;
}

const attack = (pattern: string, ...pumped: RegexAttack['pumped']): RegexAttack => ({ pattern, pumped });
const slow = (example: RegexAttack): RegexAttack => ({ ...example, isSlow: true });

export const attacks: readonly RegexAttack[] = [
  // Patterns from real configurations.
  attack('^/api/', ['/', 'api', '']),
  attack('\\.(?:jpe?g|png|gif|css|js)$', ['/', '.jpg', '-'], ['/', '.', '']),
  attack('^/(?!api/).*', ['/', 'a', '\n']),
  attack('^(?!.*\\.php$).*$', ['/', '.php', '-'], ['/', 'a', '\n']),
  attack('^/(?=.*a)(?=.*b).*c$', ['/', 'ab', '']),
  attack('(?<!/static)/[^/]+\\.php$', ['', '/a', ''], ['', 'a', '.php']),
  attack('^/(.+)\\.(\\d+)\\.(js|css)$', ['/', '.1', '-']),
  attack('^/(?!admin/)(.*)/(.*)$', ['/', '/', '\n']),
  attack('^/([^/]+)/\\1$', ['/', 'a', '/b'], ['/', 'a/', '']),
  attack('^[0-9a-f]{32}$', ['', 'a', '']),
  attack('(bot|crawl|spider|slurp|scan|fetch|curl|wget|python|java|go-http)', ['', 'bocraspslscfecu', '']),
  attack('^([a-z0-9-]+\\.)+example\\.com$', ['', 'a.', '-'], ['', 'a', '-']),
  // Patterns whose counts the linear engine does not accept.
  slow(attack('^/g/([a-z0-9]{2,20}-?){1,10}$', ['/g/', 'a', '!'], ['/g/', 'ab-', '!'])),
  slow(attack('^/(?:[a-z]{1,20}/?){1,20}$', ['/', 'a', '!'])),
  slow(attack('^(?:\\w{1,30}\\.?){2,30}@$', ['', 'a', ''])),
  attack('^/(\\w{1,64})-(\\w{1,64})$', ['/', 'a', '!'], ['/', 'a-', '']),
  // Exponential, accepted by the linear engine.
  attack('(a+)+$', ['', 'a', '-']),
  attack('^(a|aa)+$', ['', 'a', '-']),
  attack('(?:a|b|ab)*\\.php$', ['', 'ab', '-']),
  attack('([a-z]+)*$', ['', 'a', '-']),
  attack('(?:(?:a*)*)*b', ['', 'a', '-']),
  // Exponential, declined by the linear engine.
  slow(attack('^(?!x)(a+)+$', ['', 'a', '-'])),
  slow(attack('^(?:(?=a)a+)+$', ['', 'a', '-'])),
  slow(attack('^(a)(b|bb)+\\1$', ['a', 'b', ''])),
  slow(attack('^/(?!api/)(\\w+\\.?)+/end$', ['/', 'a', ''])),
  slow(attack('(?<=(?:a|aa)+)$', ['b', 'a', '-'], ['', 'a', ''])),
  // Polynomial, also in the place where the match begins.
  attack('a+b', ['', 'a', '']),
  attack('\\s+$', ['', ' ', '-']),
  attack('.*a.*a.*a.*b', ['', 'a', '']),
  attack('(?!x)a+b', ['', 'a', '']),
  attack('(?!x)\\s+$', ['', ' ', '-']),
  slow(attack('^(?!x).*a.*a.*a.*b$', ['', 'a', ''])),
  attack('a*a*a*a*a*b', ['', 'a', '']),
  // Large for the linear engine.
  attack(`(?:${alternatives(200)})$`, ['', 'a', '']),
  attack('(a|b|c|d|e|aa|ab|ac|aaa|aaaa|aaaaa|aaaaaa)*$', ['', 'a', '-']),
  attack('(?:a?){16}b', ['', 'a', '']),
];

function alternatives(count: number): string {
  return Array.from({ length: count }, (_, index) => `${'a'.repeat(1 + (index % 40))}b${index}`).join('|');
}
