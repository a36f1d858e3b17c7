import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { addressOf, connectionAttempts, readDsn } from '../../../src/postgres/index.ts';
import { startGateway } from '../../harness/gateway.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';

/** A home with these files, and the surroundings of a process there. */
function home(files: Record<string, string>, env: Record<string, string> = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'gw-test-home-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir, name, '..'), { recursive: true });
    writeFileSync(join(dir, name), text, { mode: 0o600 });
  }
  const warnings: string[] = [];
  const inHome = (text: string): string => text.replaceAll('~', dir);
  const around = {
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, inHome(value)])),
    home: dir,
    warn: (message: string) => void warnings.push(message.replaceAll(dir, '~')),
  };
  const read = (dsn: string) => readDsn(inHome(dsn), around);
  const fault = (dsn: string): string => {
    const result = read(dsn);
    return 'fault' in result ? result.fault.message.replaceAll(dir, '~') : 'no fault';
  };
  return { dir, warnings, read, fault };
}

const SERVICES = `# the services of the shop
[prod]
host=db.example
  port=6543
dbname=shop
dbname=other
password=a=b c

[empty]
[broken]
host=db
no sense s3cret
[strange]
colour=s3cret
[unsupported]
sslcrl=/s3cret
[wrong]
port=s3cret
[nested]
service=prod
[ldap]
ldap://s3cret/
`;
const PROD = {
  hosts: [{ host: 'db.example', port: 6543 }],
  database: 'shop',
  password: 'a=b c',
};

const services: [it: string, dsn: string, env: Record<string, string>, expected: object][] = [
  ['the file of the account', 'service=prod', {}, PROD],
  ['a URI', 'postgresql:///?service=prod', {}, PROD],
  [
    'values of the string before those of the service',
    'dbname=mine service=prod',
    {},
    { ...PROD, database: 'mine' },
  ],
  ['a file that is named in the string', 'service=prod servicefile=~/other.conf', {}, { user: 'other' }],
  [
    'PGSERVICEFILE before the file of the account',
    'service=prod',
    { PGSERVICEFILE: '~/other.conf' },
    { user: 'other' },
  ],
  [
    'the file of the system after the others',
    'service=common',
    { PGSYSCONFDIR: '~/etc' },
    { user: 'common' },
  ],
  ['PGSERVICE where the string names no service', 'user=me', { PGSERVICE: 'prod' }, { ...PROD, user: 'me' }],
  ['the service of the string before PGSERVICE', 'service=prod', { PGSERVICE: 'broken' }, PROD],
  ['a service without settings', 'service=empty', {}, {}],
];
for (const [it, dsn, env, expected] of services) {
  test(`a service is read from ${it}`, () => {
    const files = {
      '.pg_service.conf': SERVICES,
      'other.conf': '[prod]\nuser=other\n',
      'etc/pg_service.conf': '[common]\r\nuser=common\r\n',
    };
    expect(home(files, env).read(dsn)).toMatchObject(expected);
  });
}

const faults: [dsn: string, message: string][] = [
  ['service=nothing', 'the service is defined in no service file'],
  ['service=broken', 'no "keyword=value" in "~/.pg_service.conf", line 12'],
  ['service=strange', 'an unknown keyword in "~/.pg_service.conf", line 14'],
  ['service=unsupported', 'a keyword that is not supported in "~/.pg_service.conf", line 16'],
  ['service=wrong', 'invalid port in "~/.pg_service.conf", line 18'],
  ['service=nested', 'a service cannot refer to another in "~/.pg_service.conf", line 20'],
  ['service=ldap', 'LDAP is not supported in "~/.pg_service.conf", line 22'],
  [
    'service=prod servicefile=~/none',
    'the service file "~/none" cannot be read (2: No such file or directory)',
  ],
  ['service=prod servicefile=~', 'the service file "~" is not a plain file'],
];
for (const [dsn, message] of faults) {
  test(`${dsn} is refused: ${message}`, () => {
    const { fault } = home({ '.pg_service.conf': SERVICES }, { PGSYSCONFDIR: '~/etc' });
    expect(fault(dsn)).toBe(message);
  });
}

const PASSWORDS = String.raw`# h:5432:d:u:comment
db:5432:shop:web:exact
db:*:shop:web:any port
other\:name:*:*:*:of\: a\\ name
localhost:5432:*:web:by socket
db:5432:shop:no password
\*:*:*:*:no wildcard
*:*:*:admin:with:colon
`;
const lookups: [dsn: string, passwords: (string | undefined)[]][] = [
  ['host=db dbname=shop user=web', ['exact']],
  ['host=db dbname=shop user=web port=7', ['any port']],
  ["host='other:name' user=x", [String.raw`of: a\ name`]],
  ['host=db dbname=shop user=nobody', [undefined]],
  ['host=db user=admin', ['with:colon']],
  ['user=web', ['by socket', 'by socket', 'by socket']],
  ['host=db hostaddr=10.0.0.7 dbname=shop user=web', ['exact']],
  ['host=db,nowhere dbname=shop user=web', ['exact', undefined]],
  ['host=db user=web', [undefined]],
];
for (const [dsn, passwords] of lookups) {
  test(`the password of ${dsn} is ${passwords.join(', ') || 'in no line'}`, () => {
    for (const [more, env] of [
      [' passfile=~/pass', {}],
      ['', { PGPASSFILE: '~/pass' }],
    ] as const) {
      const target = home({ pass: PASSWORDS }, env).read(`${dsn}${more}`);
      expect('hosts' in target && target.hosts.map(({ password }) => password)).toEqual(passwords);
    }
  });
}

test('a password in the string goes before the file, which is not read', () => {
  const { read, warnings } = home({});
  expect(read('host=db password=own passfile=~/none')).toMatchObject({
    password: 'own',
    hosts: [{ host: 'db' }],
  });
  expect(warnings).toEqual([]);
});

const ignored: [it: string, mode: number, path: string, warning: string][] = [
  ['the group may read', 0o640, 'pass', 'group or others may use it, its permissions should be 0600 or less'],
  ['others may write', 0o602, 'pass', 'group or others may use it, its permissions should be 0600 or less'],
  ['is not there', 0o600, 'none', 'it cannot be read (2: No such file or directory)'],
  ['is a directory', 0o600, '', 'it is not a plain file'],
];
for (const [it, mode, path, warning] of ignored) {
  test(`a password file that ${it} is ignored with a warning`, () => {
    const { dir, read, warnings } = home({ pass: PASSWORDS });
    chmodSync(join(dir, 'pass'), mode);
    expect(read(`host=db dbname=shop user=web passfile=~/${path}`)).toMatchObject({
      hosts: [{ host: 'db', port: 5432 }],
    });
    expect(warnings).toEqual([`the password file "~/${path}" is ignored: ${warning}`]);
  });
}

const names: [dsn: string, ssl: object][] = [
  ['host=db.example hostaddr=10.0.0.7', { host: 'db.example', servername: 'db.example' }],
  ['host=10.0.0.8 hostaddr=10.0.0.7', { host: '10.0.0.8' }],
];
for (const [dsn, ssl] of names) {
  test(`with ${dsn} the certificate has to be for the host, not for the address`, async () => {
    const target = readDsn(`${dsn} sslmode=verify-full`);
    if ('fault' in target) throw new Error(target.fault.message);
    const [attempt, ...others] = await connectionAttempts(target);
    expect(others).toEqual([]);
    expect(attempt?.ssl).toEqual({ rejectUnauthorized: true, ...ssl });
    expect(attempt && addressOf(attempt)).toBe('10.0.0.7');
  });
}

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres('create view one as select 1 as one; grant select on one to anon;');
});

test('a gateway serves a database by service, password file and address', async (t) => {
  const { dir } = home({
    'services.conf': `[shop]\nhost=no-such-host.invalid\nhostaddr=${db.host}\nport=${db.port}\nuser=authenticator\n`,
    pass: `*:*:*:*:unused\n`,
  });
  const gw = await startGateway(
    t,
    `server { location / { dbrest_anon_role anon; dbrest_timeout 10s;
       dbrest_pass "service=shop servicefile=${dir}/services.conf dbname=${db.database} passfile=${dir}/pass"; } }`,
  );
  expect((await gw.fetch('/one')).body).toBe('[{"one":1}]');
});
