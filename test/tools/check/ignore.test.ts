import { describe, expect, test } from 'vitest';
import { load, review } from '../../../src/pipeline.ts';
import { type Mendable, mended, type Review } from '../../../src/tools/check/index.ts';

const RULES = ['GW301', 'GW307', 'GW121', 'GW123'];
const ALIAS = 'location /img { alias /srv/img/; }';

/** The findings for a server, and those that are ignored; the main context may have a `check` block. */
function found(server: string, main = ''): Promise<Review> {
  const text = `${main}\nhttp {\nserver {\nlisten 127.0.0.1:8080;\n${server}\n}\n}\n`;
  const loaded = load({ confFile: '/nowhere/gw.conf', name: 'gw.conf', prefix: '/nowhere', text });
  return review(loaded, main === '' ? { select: RULES } : {});
}

const rulesOf = ({ findings }: Review): readonly string[] => findings.map(({ rule }) => rule);

describe('a comment ignores what is found', () => {
  const covering: readonly (readonly [it: string, server: string])[] = [
    ['in the line below it', `# gw-ignore GW301: public\n${ALIAS}`],
    ['in its own line', `${ALIAS} # gw-ignore GW301: public`],
    ['below other comments', `# gw-ignore GW301: public\n# gw-ignore GW307: too\n${ALIAS} allow 10.0.0.0/8;`],
    ['by the name of the rule', `# gw-ignore alias-traversal: public\n${ALIAS}`],
    ['by the beginning of an id', `# gw-ignore GW3xx: public\n${ALIAS}`],
    ['in words over several lines', 'location /img {\n# gw-ignore GW301: public\nalias\n"/srv/img/";\n}'],
    ['at the end of such words', 'location /img {\nalias\n"/srv/img/"; # gw-ignore GW301: public\n}'],
    [
      'at another place that the finding is about',
      '# gw-ignore GW301: public\nlocation /img {\nalias /srv/img/;\n}',
    ],
    ['anywhere in its file', `${ALIAS}\nlocation /i { alias /srv/i/; }\n# gw-ignore-file GW301: public`],
    ['for several rules', `# gw-ignore GW301, GW307: public\n${ALIAS} allow 10.0.0.0/8;`],
  ];
  test.for(covering)('%s', async ([, server]) => {
    const reviewed = await found(server);
    expect(reviewed.suppressed.length).toBeGreaterThan(0);
    for (const { suppression } of reviewed.suppressed) expect(suppression.reason).toMatch(/^(public|too)$/);
    expect(rulesOf(reviewed).filter((rule) => rule !== 'GW121')).toEqual([]);
  });

  const missing: readonly (readonly [it: string, server: string, rules: readonly string[]])[] = [
    ['two lines further on', `# gw-ignore GW301: public\n\nreturn 204;\n${ALIAS}`, ['GW121', 'GW301']],
    ['of another rule', `# gw-ignore GW307: public\n${ALIAS}`, ['GW121', 'GW301']],
    ['without a reason', `# gw-ignore GW301\n${ALIAS}`, ['GW123', 'GW301']],
    ['with an empty reason', `# gw-ignore GW301: \n${ALIAS}`, ['GW123', 'GW301']],
    ['of no rule', `# gw-ignore : public\n${ALIAS}`, ['GW123', 'GW301']],
    ['of a rule that does not exist', `# gw-ignore GW399: public\n${ALIAS}`, ['GW123', 'GW301']],
    ['in quotes', `set $a "# gw-ignore GW301: public";\n${ALIAS}`, ['GW301']],
    ['by a word that only begins like it', `# gw-ignored GW301: public\n${ALIAS}`, ['GW301']],
  ];
  test.for(missing)('but not %s', async ([, server, rules]) => {
    expect(rulesOf(await found(server))).toEqual(rules);
  });
});

test('a fault that prevents loading cannot be ignored', async () => {
  const reviewed = await found('# gw-ignore GW105: later\nretrun 204;');
  expect(rulesOf(reviewed)).toEqual(['GW105']);
});

test('a comment about a rule that does not run is not reported as needless', async () => {
  expect(rulesOf(await found('# gw-ignore GW2: for later\nreturn 204;'))).toEqual([]);
});

const needless: readonly (readonly [it: string, server: string, left: string])[] = [
  ['goes with its line', '# gw-ignore GW301: was\nreturn 204;', 'return 204;'],
  ['goes from the end of a line', 'return 204; # gw-ignore GW301: was', 'return 204;'],
  [
    'keeps the rules that are needed',
    `# gw-ignore GW301, GW307: public\n${ALIAS}`,
    `# gw-ignore GW301: public\n${ALIAS}`,
  ],
];

test.for(needless)('a needless comment, when mended, %s', async ([, server, left]) => {
  const { findings } = await found(server);
  expect(findings.map(({ rule, fix }) => [rule, fix?.safe])).toEqual([['GW121', true]]);
  const [text] = mended(findings as readonly Mendable[]).values();
  expect(text).toBe(`\nhttp {\nserver {\nlisten 127.0.0.1:8080;\n${left}\n}\n}\n`);
});

describe('the check block', () => {
  test('ignores with a reason, everywhere', async () => {
    const reviewed = await found(ALIAS, 'check { ignore GW301 "all of it is public"; select GW3; }');
    expect(rulesOf(reviewed)).toEqual([]);
    expect(reviewed.suppressed.map(({ suppression }) => suppression)).toEqual([
      { by: 'configuration', reason: 'all of it is public' },
    ]);
  });

  test('selects rules', async () => {
    expect(rulesOf(await found(ALIAS, 'check { select GW4 GW301; }'))).toEqual(['GW301']);
    expect(rulesOf(await found(ALIAS, 'check { select GW4; }'))).toEqual([]);
  });

  test('reports what it ignores in vain, and which rule does not exist', async () => {
    const vain = await found('return 204;', 'check { ignore GW301 "was"; ignore alias-traversl "typo"; }');
    expect(vain.findings.map(({ rule, message }) => `${rule} ${message}`)).toEqual([
      'GW121 "ignore" for "GW301" matches nothing',
      'GW123 there is no rule "alias-traversl" to ignore',
    ]);
  });

  const broken: readonly (readonly [block: string, message: string])[] = [
    ['check { ignore GW301; }', 'invalid number of arguments in "ignore" directive'],
    ['check { refuse always; }', 'invalid value "always"'],
    ['check { deny all; }', '"deny" directive is not allowed here'],
    ['check { refuse error; } check { refuse error; }', '"check" directive is duplicate'],
  ];
  test('an "ignore" that lacks a word is one fault', async () => {
    const { findings } = await found('return 204;', 'check { ignore GW301; }');
    expect(findings.map(({ rule }) => rule)).toEqual(['GW107']);
  });

  test.for(broken)('%s does not load', async ([block, message]) => {
    const { findings } = await found('return 204;', block);
    expect(findings.map((finding) => finding.message)).toContain(message);
  });
});
