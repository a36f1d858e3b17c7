import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/modules/dbrest/embedded/index.ts';
import { chooseAccount } from '../../../src/modules/dbrest/embedded/programs.ts';
import { findAccount } from '../../../src/system/index.ts';

const IS_ROOT = process.getuid?.() === 0;
const log = { write: () => undefined };
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gw-entrance-'));
  chmodSync(dir, 0o711);
});
afterAll(() => rmSync(dir, { recursive: true }));

/** Logs in as the superuser (protocol: StartupMessage) and prints "in", "refused" or the error of connect(2). */
const LOGIN = `
  const socket = require('net').connect(process.argv[1]);
  const names = 'user\\0postgres\\0\\0';
  const message = Buffer.alloc(8 + names.length);
  message.writeInt32BE(message.length, 0);
  message.writeInt32BE(196608, 4);
  message.write(names, 8);
  socket.on('connect', () => socket.write(message)).on('error', ({ code }) => console.log(code));
  socket.on('data', (reply) => {
    console.log(reply[0] === 82 && reply.readInt32BE(5) === 0 ? 'in' : 'refused');
    socket.destroy();
  });`;

/** The result for a process of another user that is in the group of `nobody`. */
function loginAs(user: string, { socketDir }: EmbeddedPostgres): string {
  const account = [`--reuid=${user}`, '--regid=nogroup', '--clear-groups'];
  const program = [process.execPath, '-e', LOGIN, join(socketDir, '.s.PGSQL.5432')];
  return execFileSync('setpriv', [...account, ...program], { cwd: '/', encoding: 'utf8' }).trim();
}

/** Lays links of another user where a cluster could be made, into a directory of root's. */
function layLinks(dataDir: string): string {
  const victim = mkdtempSync(join(dir, 'victim-'));
  for (const name of [`${dataDir}.draft`, `${dataDir}.draft-`])
    execFileSync('setpriv', ['--reuid=games', '--regid=games', '--clear-groups', 'ln', '-s', victim, name]);
  return victim;
}

const nobody = findAccount('nobody');
const cases = [
  { it: 'of the serving account', owner: 'nobody', deep: '', inTmp: false },
  { it: 'of another account', owner: 'daemon', deep: '', inTmp: true },
  { it: 'with a path that is too long for a socket', owner: 'nobody', deep: 'x'.repeat(90), inTmp: true },
];
for (const { it, owner, deep, inTmp } of cases) {
  test.runIf(IS_ROOT)(`data ${it} serve root, their owner and the serving account alone`, async () => {
    const dataDir = join(dir, `${owner}${deep}`, 'pg');
    mkdirSync(dirname(dataDir));
    chmodSync(dirname(dataDir), owner === 'nobody' ? 0o1777 : 0o775);
    chownSync(dirname(dataDir), 0, 60);
    const victim = layLinks(dataDir);
    mkdirSync(dataDir);
    const { uid, gid } = findAccount(owner)!;
    chownSync(dataDir, uid, gid);
    const server = await startEmbeddedPostgres({ dataDir, log, servedBy: nobody });
    try {
      expect(statSync(server.socketDir)).toMatchObject({ uid: nobody!.uid });
      expect(statSync(server.socketDir).mode & 0o777).toBe(0o700);
      expect(loginAs('nobody', server)).toBe('in');
      expect(loginAs('root', server)).toBe('in');
      expect(loginAs('games', server)).toBe('EACCES');
      if (inTmp) {
        // The server refuses as well, whoever may reach its socket.
        chmodSync(server.socketDir, 0o777);
        expect(loginAs('games', server)).toBe('refused');
        expect(loginAs(owner, server)).toBe('in');
      }
    } finally {
      await server.stop();
    }
    expect(dirname(server.socketDir) === '/tmp').toBe(inTmp);
    expect(existsSync(server.socketDir)).toBe(!inTmp);
    expect(statSync(victim)).toMatchObject({ uid: 0 });
  });
}

const strangers = [
  { it: 'in a directory that all can write', mode: 0o1777, refused: true },
  { it: 'in a directory of its owner', mode: 0o755, refused: false },
];
for (const { it, mode, refused } of strangers) {
  test.runIf(IS_ROOT)(`data of a stranger ${it} are ${refused ? 'refused' : 'served'} by root`, async () => {
    const above = mkdtempSync(join(dir, 'above-'));
    chmodSync(above, mode);
    const dataDir = join(above, 'pg');
    mkdirSync(dataDir);
    chownSync(dataDir, findAccount('games')!.uid, 60);
    const choosing = chooseAccount(dataDir, nobody);
    if (refused)
      await expect(choosing).rejects.toThrow(`it belongs to "games", and every account can write "${above}"`);
    else await expect(choosing).resolves.toMatchObject({ name: 'games' });
  });
}
