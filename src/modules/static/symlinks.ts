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
export interface SymlinkRules {
  /** Follow a link whose owner also owns what it leads to. */
  readonly sameOwner: boolean;
  /** Links in this first part of the path are followed; '' when the path does not begin with it. */
  from(x: Exchange): string;
}

/** Linux: a handle on a name, without opening what it stands for. Node does not tell it. */
const O_PATH = 0o10000000;
const NAME_ALONE = O_PATH | constants.O_NOFOLLOW;
const LINK_MODE = 0o120000;
const TYPE_MODE = 0o170000;

/** Whether this system can walk a path name by name: every step starts from the handle of the one before. */
export const CAN_WALK = process.platform === 'linux';

/**
 * Files below paths without symbolic links (nginx: ngx_open_file_wrapper). The walk holds a handle on each directory, so that
 * nobody can put a link in the place of what was just looked at.
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

/** Hands the handle of the last name to `use`; no handle stays open. */
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

/** What of a path may have links: `from`, where it ends with one of the path's names. */
function trustedPart(path: string, from: string): string {
  const ends = from.endsWith('/') || path.length === from.length || path[from.length] === '/';
  return path.startsWith(from) && ends ? from : '';
}

interface Step {
  readonly sameOwner: boolean;
  readonly isLast: boolean;
}

/** From a directory to one of its names. A link in the middle of a path is no directory, one at its end is one link too many. */
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
