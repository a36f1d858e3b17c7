import { describe, expect, test } from 'vitest';
import { Report, type Word } from '../../../grammar/index.ts';
import { passReader } from '../../../src/modules/dbrest/directives/connection.ts';
import { readDsn } from '../../../src/postgres/index.ts';

const DEFAULTS = {
  hosts: [
    { host: '/var/run/postgresql', port: 5432 },
    { host: '/tmp', port: 5432 },
    { host: 'localhost', port: 5432 },
  ],
  sslMode: 'prefer',
  connectTimeoutMs: 5_000,
  applicationName: 'gw',
  keepAlive: true,
  keepAliveIdleMs: 30_000,
};
const one = (host: string, port = 5432) => ({ hosts: [{ host, port }] });

const targets: [dsn: string, expected: object][] = [
  ['', {}],
  [
    'host=db port=6543 dbname=shop user=gw password=secret',
    { ...one('db', 6543), database: 'shop', user: 'gw', password: 'secret' },
  ],
  ["host = db  password = 'it\\'s a \\\\ secret'", { ...one('db'), password: "it's a \\ secret" }],
  ["host=db password=''", { ...one('db'), password: '' }],
  ['host=/run/pg user=a\\ b', { ...one('/run/pg'), user: 'a b' }],
  [
    'host=a,b,c port=1,,3',
    {
      hosts: [
        { host: 'a', port: 1 },
        { host: 'b', port: 5432 },
        { host: 'c', port: 3 },
      ],
    },
  ],
  [
    'host=a,b port=7',
    {
      hosts: [
        { host: 'a', port: 7 },
        { host: 'b', port: 7 },
      ],
    },
  ],
  [
    'host=db sslmode=verify-full sslrootcert=/ca.pem',
    { ...one('db'), sslMode: 'verify-full', sslRootCert: '/ca.pem' },
  ],
  ['host=db connect_timeout=1', { ...one('db'), connectTimeoutMs: 2_000 }],
  [
    "host=db options='-c geqo=off' application_name=shop",
    { ...one('db'), options: '-c geqo=off', applicationName: 'shop' },
  ],
  ['host=db keepalives=0 keepalives_idle=7', { ...one('db'), keepAlive: false, keepAliveIdleMs: 7_000 }],
  ['host=a host=b', one('b')],
  ['hostaddr=127.0.0.1', one('127.0.0.1')],
  ['host=db hostaddr=10.0.0.7', { hosts: [{ host: 'db', port: 5432, address: '10.0.0.7' }] }],
  [
    'host=a,b hostaddr=::1, port=7',
    {
      hosts: [
        { host: 'a', port: 7, address: '::1' },
        { host: 'b', port: 7 },
      ],
    },
  ],
  ['postgres://', {}],
  [
    'postgresql://gw:p%40ss@db:6543/shop',
    { ...one('db', 6543), user: 'gw', password: 'p@ss', database: 'shop' },
  ],
  ['postgresql://db', one('db')],
  ['postgresql:///shop?host=/run/pg&port=6543', { ...one('/run/pg', 6543), database: 'shop' }],
  ['postgresql://%2Frun%2Fpg/shop', { ...one('/run/pg'), database: 'shop' }],
  [
    'postgresql://[::1]:7,db/x',
    {
      hosts: [
        { host: '::1', port: 7 },
        { host: 'db', port: 5432 },
      ],
      database: 'x',
    },
  ],
  [
    'postgresql://u@db/x?sslmode=require&application_name=a%20b',
    { ...one('db'), user: 'u', database: 'x', sslMode: 'require', applicationName: 'a b' },
  ],
];

describe('readDsn', () => {
  test.each(targets)('reads %s', (dsn, expected) => {
    expect(readDsn(dsn)).toEqual({ ...DEFAULTS, ...expected });
  });
});

/** Message and place as the operator sees them: the place is the marked part of the argument. */
function faultsOf(dsn: string, quote: '' | '"' = '"', secret = false): string {
  const text = `${quote}${dsn}${quote}`;
  const source = { name: 'gw.conf', text };
  const span = { source, start: 0, end: text.length };
  const word: Word = { value: dsn, quote, span, secret, literals: [] };
  const report = new Report();
  const scope = {
    directive: 'dbrest_pass',
    span,
    report,
    confDir: '/',
    prefix: '/srv',
    complexValue: () => ({ parts: [] }),
    defineVariable: () => undefined,
  };
  passReader.read([word], scope as never);
  const [fault] = report.faults;
  if (!fault?.span) return 'no fault';
  const { start, end } = fault.span;
  return [
    fault.message,
    text,
    ' '.repeat(start) + '^'.repeat(end - start),
    ...(fault.hint ? [fault.hint] : []),
  ].join('\n');
}

const SAID = 'invalid value in "dbrest_pass" directive,';
const faults = [
  [
    'hots=db',
    `${SAID} unknown keyword "hots"
"hots=db"
 ^^^^
did you mean "host"?`,
  ],
  [
    'host=db colour=blue',
    `${SAID} unknown keyword "colour"
"host=db colour=blue"
         ^^^^^^
expected host, port, dbname, user, password …`,
  ],
  [
    'mysql://db/x',
    `${SAID} neither a URI nor keywords
"mysql://db/x"
 ^^^^^^^^^^^^
expected postgresql://user:password@host:port/dbname or host=… dbname=…`,
  ],
  [
    'host=db 5432',
    `${SAID} no "=" after a keyword
"host=db 5432"
         ^^^^
expected keyword=value`,
  ],
  [
    "host=db password='open",
    `${SAID} no closing quote
"host=db password='open"
                  ^^^^^`,
  ],
  [
    'host=db port=99999 dbname=x',
    `${SAID} invalid port
"host=db port=99999 dbname=x"
         ^^^^^^^^^^
expected 1 to 65535`,
  ],
  [
    'host=a,b,c port=1,2',
    `${SAID} 2 ports for 3 hosts
"host=a,b,c port=1,2"
            ^^^^^^^^`,
  ],
  [
    'host=db sslmode=on',
    `${SAID} invalid "sslmode"
"host=db sslmode=on"
         ^^^^^^^^^^
expected disable, allow, prefer, require, verify-ca, verify-full`,
  ],
  [
    'host=db sslcrl=/x',
    `${SAID} "sslcrl" is not supported yet
"host=db sslcrl=/x"
         ^^^^^^`,
  ],
  [
    'host=db hostaddr=db',
    `${SAID} invalid "hostaddr"
"host=db hostaddr=db"
         ^^^^^^^^^^^
expected IP addresses`,
  ],
  [
    'host=a,b hostaddr=::1',
    `${SAID} 1 addresses for 2 hosts
"host=a,b hostaddr=::1"
 ^^^^^^^^^^^^^^^^^^^^^`,
  ],
  [
    'postgresql://db/x?ssl',
    `${SAID} no "=" in a URI parameter
"postgresql://db/x?ssl"
                   ^^^
expected keyword=value`,
  ],
  [
    'postgresql://u:100%@db/x',
    `${SAID} invalid percent-encoding
"postgresql://u:100%@db/x"
                ^^^^`,
  ],
  [
    'postgresql://[::1/x',
    `${SAID} malformed host
"postgresql://[::1/x"
              ^^^^
expected host, host:port or [IPv6]:port`,
  ],
] as const;

describe('dbrest_pass', () => {
  test.each(faults)('points at the fault in %s', (dsn, expected) => {
    expect(faultsOf(dsn)).toBe(expected);
  });

  test('says nothing of a secret string’s content', () => {
    expect(faultsOf('p4ssw0rd', '', true).split('\n')[0]).toBe(`${SAID} malformed connection string`);
  });

  test.each([
    ['embedded', '/srv/.gw/pg'],
    ['embedded:data/pg', '/srv/data/pg'],
    ['embedded:/var/lib/gw', '/var/lib/gw'],
  ])('%s keeps its data in %s', (text, dir) => {
    const source = { name: 'gw.conf', text };
    const word: Word = {
      value: text,
      quote: '',
      span: { source, start: 0, end: text.length },
      secret: false,
      literals: [],
    };
    expect(passReader.read([word], { directive: 'dbrest_pass', prefix: '/srv' } as never)).toEqual({
      kind: 'embedded',
      dir,
    });
  });
});
