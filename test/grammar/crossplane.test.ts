import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildConfig, type ParseOptions, parsePayload, type Statement } from '../../grammar/index.ts';
import { directoryWith } from '../cli/command.ts';

const OPTIONS: ParseOptions = {
  comments: false,
  ignore: new Set(),
  singleFile: false,
  combine: false,
  hints: false,
  faults: [],
};

const MAIN = `# site
events {}
http { # all of it
  include conf.d/*.conf; include none/*.conf;
  server { listen 80; if ($a = "b c") { return 444; } }
}
`;
const FILES = {
  'gw.conf': MAIN,
  'conf.d/a.conf': 'gzip on;',
  'conf.d/b.conf': 'map $x $y {\n  default 0;\n}',
};

const PAYLOAD = {
  status: 'ok',
  errors: [],
  config: [
    {
      file: 'DIR/gw.conf',
      status: 'ok',
      errors: [],
      parsed: [
        { directive: 'events', line: 2, args: [], block: [] },
        {
          directive: 'http',
          line: 3,
          args: [],
          block: [
            { directive: 'include', line: 4, args: ['conf.d/*.conf'], includes: [1, 2] },
            { directive: 'include', line: 4, args: ['none/*.conf'], includes: [] },
            {
              directive: 'server',
              line: 5,
              args: [],
              block: [
                { directive: 'listen', line: 5, args: ['80'] },
                {
                  directive: 'if',
                  line: 5,
                  args: ['$a', '=', 'b c'],
                  block: [{ directive: 'return', line: 5, args: ['444'] }],
                },
              ],
            },
          ],
        },
      ],
    },
    {
      file: 'DIR/conf.d/a.conf',
      status: 'ok',
      errors: [],
      parsed: [{ directive: 'gzip', line: 1, args: ['on'] }],
    },
    {
      file: 'DIR/conf.d/b.conf',
      status: 'ok',
      errors: [],
      parsed: [
        {
          directive: 'map',
          line: 1,
          args: ['$x', '$y'],
          block: [{ directive: 'default', line: 2, args: ['0'] }],
        },
      ],
    },
  ],
};

test('a configuration is listed file by file, with the places of includes', (t) => {
  const dir = directoryWith(t, FILES);
  const payload = parsePayload(join(dir, 'gw.conf'), OPTIONS);
  expect(JSON.parse(JSON.stringify(payload).replaceAll(dir, 'DIR'))).toEqual(PAYLOAD);
});

test('a combined configuration gives the file of each directive', (t) => {
  const dir = directoryWith(t, FILES);
  const { config } = parsePayload(join(dir, 'gw.conf'), { ...OPTIONS, combine: true });
  const [http] = (config[0]?.parsed ?? []).filter(({ directive }) => directive === 'http');
  expect(http?.block?.map(({ directive, file }) => `${directive} ${file?.slice(dir.length)}`)).toEqual([
    'gzip /conf.d/a.conf',
    'map /conf.d/b.conf',
    'server /gw.conf',
  ]);
});

const choices = [
  { it: 'comments are kept on request', options: { comments: true }, names: ['#', 'events', 'http'] },
  { it: 'directives are left out on request', options: { ignore: new Set(['events']) }, names: ['http'] },
];

for (const { it, options, names } of choices) {
  test(it, (t) => {
    const dir = directoryWith(t, FILES);
    const { config } = parsePayload(join(dir, 'gw.conf'), { ...OPTIONS, ...options });
    expect(config[0]?.parsed.map(({ directive }) => directive)).toEqual(names);
  });
}

test('includes of a single file are not followed', (t) => {
  const dir = directoryWith(t, FILES);
  expect(parsePayload(join(dir, 'gw.conf'), { ...OPTIONS, singleFile: true }).config).toHaveLength(1);
});

test('a file that does not parse and one that is missing are errors with their places', (t) => {
  const dir = directoryWith(t, { 'gw.conf': 'include a.conf;\ninclude b.conf;\n', 'a.conf': 'listen 80\n' });
  const { status, errors } = parsePayload(join(dir, 'gw.conf'), OPTIONS);
  expect({
    status,
    errors: errors.map((error) => ({ ...error, file: error.file.slice(dir.length) })),
  }).toEqual({
    status: 'failed',
    errors: [
      {
        error: `unexpected end of file, expecting ";" or "}" in ${dir}/a.conf:1`,
        line: 1,
        file: '/a.conf',
      },
      {
        error: `open() "${dir}/b.conf" failed (2: No such file or directory)`,
        line: null,
        file: '/b.conf',
      },
    ],
  });
});

test('a cycle of includes ends', (t) => {
  const dir = directoryWith(t, { 'gw.conf': 'a; include gw.conf;' });
  const { config } = parsePayload(join(dir, 'gw.conf'), { ...OPTIONS, combine: true });
  expect(config[0]?.parsed.map(({ directive }) => directive)).toEqual(['a']);
});

const word = fc.string({
  unit: fc.oneof(fc.constantFrom(...' \t\r\n;{}"\'\\$#()abn'), fc.string({ unit: 'binary', maxLength: 1 })),
  maxLength: 8,
});

test('a configuration that was built is read back unchanged', (t) => {
  const dir = directoryWith(t, {});
  const file = join(dir, 'gw.conf');
  const simple = fc.tuple(word, fc.array(word, { maxLength: 3 }));
  fc.assert(
    fc.property(fc.array(simple, { maxLength: 3 }), (directives) => {
      const wanted = directives
        .filter(
          ([name]) =>
            name !== 'include' &&
            name !== 'if' &&
            name !== '#' &&
            !/[\uD800-\uDFFF\uFEFF]/.test(name + directives),
        )
        .map(([directive, args]): Statement => ({ directive, line: 1, args, block: [] }));
      writeFileSync(file, buildConfig(wanted, { indent: '  ' }));
      const read = parsePayload(file, { ...OPTIONS, singleFile: true });
      const plain = (all: readonly Statement[] | undefined) =>
        all?.map(({ directive, args }) => [directive, args]);
      expect(plain(read.config[0]?.parsed)).toEqual(plain(wanted));
    }),
  );
});
