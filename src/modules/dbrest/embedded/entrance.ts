import { constants } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { accountOfId } from '../../../system/index.ts';
import { EMBEDDED_ROLE } from '../directives/index.ts';
import { type Account, runAs } from './programs.ts';

/** The path of the Unix socket; its name contains the port even if the server listens on no port. */
export function socketPath(socketDir: string, port: number): string {
  return join(socketDir, `.s.PGSQL.${port}`);
}

/** sockaddr_un holds 104 bytes on macOS and 108 on Linux, with the final NUL. */
const SOCKET_PATH_BYTES = 104;

interface EntranceNeeds {
  /** The real path of the data directory. */
  readonly home: string;
  readonly port: number;
  readonly account: Account;
  /** The account of the process that connects, if it changes. */
  readonly servedBy: Account | undefined;
}

/** The access of gw, and of nobody else, to the server. */
interface Entrance {
  readonly socketDir: string;
  /** Settings of the server. */
  readonly settings: Readonly<Record<string, string>>;
  /** Lets the serving account in; to be called once the server listens. */
  open(): Promise<void>;
  /** Removes what has been made, once the server has ended. */
  close(): Promise<void>;
}

/**
 * Chooses the directory of the socket, the data directory unless its path is too long or the connecting account cannot
 * enter it, and writes who may log in.
 */
export async function makeEntrance(needs: EntranceNeeds): Promise<Entrance> {
  const { home, port, account, servedBy } = needs;
  const rules = await writeLoginRules(needs);
  const stranger = servedBy?.uid === account.uid ? undefined : servedBy;
  if (!stranger && Buffer.byteLength(socketPath(home, port)) < SOCKET_PATH_BYTES)
    return entranceOf(home, rules, { open: nothing, close: nothing });
  const directory = await mkdtemp('/tmp/gw-');
  await give(directory, account);
  return entranceOf(directory, rules, {
    // Only its owner can remove it from /tmp, and gw has given up root by then. A listening server does not need it.
    open: () => (stranger ? give(directory, stranger) : nothing()),
    close: () => rm(directory, { recursive: true, force: true }),
  });
}

const nothing = (): Promise<void> => Promise.resolve();

function entranceOf(
  socketDir: string,
  rules: Readonly<Record<string, string>>,
  acts: Pick<Entrance, 'open' | 'close'>,
): Entrance {
  const settings = { ...rules, unix_socket_directories: `"${socketDir.replaceAll('"', '""')}"` };
  return { socketDir, settings, ...acts };
}

const OWN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Gives a directory to an account, by its descriptor: in /tmp its owner could put a link in its place. */
export async function give(directory: string, { uid, gid }: Account): Promise<void> {
  if (uid === undefined || gid === undefined) return;
  const handle = await open(directory, OWN_DIRECTORY);
  try {
    await handle.chown(uid, gid);
  } finally {
    await handle.close();
  }
}

/**
 * Writes the login rules: over the socket, processes of root, of the server's account and of the serving one log in as
 * the superuser. The system tells the server who connects, so there is no password that others could find.
 */
async function writeLoginRules({ home, account, servedBy }: EntranceNeeds): Promise<Record<string, string>> {
  const names = [0, account.uid, servedBy?.uid].map((uid) => uid !== undefined && accountOfId(uid)?.name);
  const known = new Set([...names, account.name, servedBy?.name]);
  const logins = [...known].flatMap((name) => (name ? [`gw "${name}" ${EMBEDDED_ROLE}\n`] : []));
  const files = { hba_file: join(home, 'gw_hba.conf'), ident_file: join(home, 'gw_ident.conf') };
  await writeAs(account, files.hba_file, 'local all all peer map=gw\n');
  await writeAs(account, files.ident_file, logins.join(''));
  return files;
}

/** Writes a file as the account, which could have put a link of its own in its place. */
async function writeAs(account: Account, path: string, text: string): Promise<void> {
  const script = 'umask 077; printf %s "$2" >"$1"';
  const { ok, output } = await runAs(account, '/bin/sh', ['-c', script, 'write', path, text]);
  if (!ok) throw new Error(output);
}
