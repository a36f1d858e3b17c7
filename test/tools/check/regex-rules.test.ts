import { expect, test } from 'vitest';
import { attacks } from '../../http/regex-corpus.ts';
import { problemsIn, said } from './configured.ts';

const unanchored: readonly (readonly [pattern: string, other: string | undefined])[] = [
  ['~ \\.php', '/a.phpx/b'],
  ['~* \\.(?:jpe?g|png)', '/a.jpgx/b'],
  ['~ ^/files/.+\\.(js|css)', '/files/a.jsx/b'],
  ['~ \\.php$', undefined],
  ['~ \\.php(?:/|$)', undefined],
  ['~ /\\.git', undefined],
  ['~ ^/index\\.php', undefined],
  ['~ \\.php|^/a$', undefined],
  ['~ ^/v1\\.2', undefined],
  ['~ /a.php', undefined],
];
for (const [pattern, other] of unanchored) {
  test(`location ${pattern} ${other === undefined ? 'says where it ends' : `matches ${other} as well`}`, () => {
    const expected = other === undefined ? [] : [expect.stringContaining(`"${other}" as well`) as string];
    expect(said(`location ${pattern} { expires 1d; }`, 'unanchored-regex')).toEqual(expected);
  });
}

test('a location that refuses may match too much', () => {
  expect(said('location ~ \\.php { deny all; }', 'unanchored-regex')).toEqual([]);
});

test('the fix of an unanchored pattern stands inside its quotes', () => {
  const [problem] = problemsIn('location ~ "\\.php" { expires 1d; }', 'unanchored-regex');
  const [edit] = problem?.fix?.edits ?? [];
  const { text = '' } = edit?.span.source ?? {};
  expect(edit && text.slice(0, edit.span.start) + edit.text + text.slice(edit.span.end)).toContain(
    '"\\.php$"',
  );
});

const slow: readonly (readonly [text: string, severity: string | undefined, attack?: string])[] = [
  ['location ~ ^/(?!a)(\\w+)+$ {}', 'error', '/'],
  ['location ~ ^/(?!a)(.*)/(.*)/$ {}', 'warning', '/'],
  ['location ~ ^/x/(a+)+$ {}', 'info', '/x/aaa'],
  ['location ~ ^/(.*)/(.*)/$ {}', undefined],
  ['location ~ ^/(?!a)([^/]+)/b$ {}', undefined],
  ['location ~ ^/(?:[^/]+/)*[^/]+\\.js$ {}', undefined],
  ['rewrite ^/x/(a+)+$ /b;', 'info', '/x/aaa'],
  ['if ($http_cookie ~ "(?<!z)(a+)+$") { return 403; }', 'error', 'aaa'],
  ['location / { proxy_pass http://127.0.0.1:1; proxy_redirect ~^/x/(?!b)(a+)+$ /b; }', undefined],
];
for (const [text, severity, attack = ''] of slow) {
  test(`${text} is ${severity === undefined ? 'fast enough' : `of severity ${severity}`}`, () => {
    const found = problemsIn(text, 'regex-redos');
    expect(found.map((problem) => problem.severity)).toEqual(severity === undefined ? [] : [severity]);
    for (const { message } of found) expect(message).toContain(`"${attack}`);
  });
}

for (const { pattern } of attacks.filter(({ isSlow }) => isSlow)) {
  test(`the pattern ${pattern} has a finding`, () => {
    const found = problemsIn(`location ~ "${pattern.replaceAll('"', '\\"')}" { return 200; }`, 'regex-redos');
    expect(found.map(({ severity }) => severity)).toContainEqual(expect.stringMatching(/error|warning/));
  });
}

const capitals: readonly (readonly [pattern: string, found: number])[] = [
  ['~ \\.(?:jpg|png)$', 1],
  ['~* \\.(?:jpg|png)$', 0],
  ['~ \\.(?:jpg|JPG)$', 0],
  ['~ \\.php$', 0],
  ['~ ^/a', 0],
];
for (const [pattern, found] of capitals) {
  test(`location ${pattern} ${found ? 'misses' : 'does not miss'} capitals`, () => {
    expect(said(`location ${pattern} { expires 1d; }`, 'case-sensitive-regex')).toHaveLength(found);
  });
}

const multiline: readonly (readonly [text: string, fixed: string | undefined])[] = [
  ['add_header A "a\n  b";', 'add_header A "a b";'],
  ['add_header A "a\r\nb" always;', 'add_header A "a b" always;'],
  ["proxy_set_header A 'a\nb';", "proxy_set_header A 'a b';"],
  ['add_header A "a b";', undefined],
  ['return 200 "a\nb";', undefined],
];
for (const [text, fixed] of multiline) {
  test(`${JSON.stringify(text)} is ${fixed === undefined ? 'left as it is' : 'joined'}`, () => {
    const [problem] = problemsIn(`location / { ${text} }`, 'header-multiline');
    const [edit] = problem?.fix?.edits ?? [];
    const { text: whole = '' } = edit?.span.source ?? {};
    const mended = edit && whole.slice(0, edit.span.start) + edit.text + whole.slice(edit.span.end);
    expect(mended?.includes(fixed ?? '')).toBe(fixed === undefined ? undefined : true);
  });
}
