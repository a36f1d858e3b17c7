import { closeSync, constants, fstatSync, lstatSync, openSync } from 'node:fs';
import { constants as systemConstants } from 'node:os';
import type { Exchange } from '../../http/index.ts';
import {
  factsOf,
  type FileFacts,
  type FileFault,
  type Files,
  OpenedFile,
  type OpenFile,
  READ,
} from './files.ts';

const { errno } = systemConstants;

/** `disable_symlinks on | if_not_owner [from=part]`. */
interface SymlinkRules {
  /** Follow links with the same owner as their targets. */
  readonly sameOwner: boolean;
  /** Links in this first part of the path are followed; '' if the path does not begin with it. */
  from(x: Exchange): string;
}

/** Linux: opens a handle on a name without opening the file. Node.js has no constant for it. */
const O_PATH = 0o10000000;
const NAME_ALONE = O_PATH | constants.O_NOFOLLOW;
const LINK_MODE = 0o120000;
const TYPE_MODE = 0o170000;

/** True if this system can open a path name by name, each relative to the handle of the previous one. */
export const CAN_WALK = process.platform === 'linux';

/**
 * Gives access to files whose paths have no symbolic links (nginx: ngx_open_file_wrapper). It holds a handle on each
 * directory, so that a checked name cannot be replaced by a link.
 */
export function guardedFiles(rules: SymlinkRules): Files {
  return {
    look(path, x): FileFacts | FileFault {
      return walk(path, { rules, x }, (fd) => factsOf(fstatSync(fd)));
    },
    open(path, x): OpenFile | FileFault {
      return walk(path, { rules, x }, (fd) => {
        const readable = openSync(`/proc/self/fd/${fd}`, READ);
        return new OpenedFile(readable, fstatSync(readable));
      });
    },
  };
}

interface Walk {
  readonly rules: SymlinkRules;
  readonly x: Exchange;
}

/** Opens the path name by name and calls `use` with the last handle. All handles are closed. */
function walk<T>(path: string, { rules, x }: Walk, use: (fd: number) => T): T | FileFault {
  const trusted = trustedPart(path, rules.from(x));
  const names = path
    .slice(trusted.length)
    .split('/')
    .filter((name) => name !== '' && name !== '.');
  let fd: number | undefined;
  try {
    fd = openSync(trusted || '/', O_PATH);
    for (const [index, name] of names.entries()) {
      const next = step(fd, name, { ...rules, isLast: index === names.length - 1 });
      closeSync(fd);
      fd = next;
    }
    return use(fd);
  } catch (error) {
    return { call: 'openat()', error: error as NodeJS.ErrnoException };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Returns the part of the path that may contain links: `from`, if it ends at a slash of the path. */
function trustedPart(path: string, from: string): string {
  const ends = from.endsWith('/') || path.length === from.length || path[from.length] === '/';
  return path.startsWith(from) && ends ? from : '';
}

interface Step {
  readonly sameOwner: boolean;
  readonly isLast: boolean;
}

/** Opens one name in a directory. A link fails with ENOTDIR in the middle of a path and with ELOOP at its end. */
function step(directory: number, name: string, { sameOwner, isLast }: Step): number {
  const path = `/proc/self/fd/${directory}/${name}`;
  const fd = openSync(path, NAME_ALONE);
  const link = fstatSync(fd);
  if ((link.mode & TYPE_MODE) !== LINK_MODE) return fd;
  closeSync(fd);
  if (!sameOwner) throw refusal(isLast ? 'ELOOP' : 'ENOTDIR');
  const target = openSync(path, O_PATH);
  if (fstatSync(target).uid === link.uid && lstatSync(path).uid === link.uid) return target;
  closeSync(target);
  throw refusal('ELOOP');
}

function refusal(code: 'ELOOP' | 'ENOTDIR'): Error {
  return Object.assign(new Error('a symbolic link'), { code, errno: -errno[code] });
}
