import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readSmallFile } from './small-file.ts';

/** The variables and directories that libpq uses besides a connection string. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The home directory of the account. */
  readonly home: string;
}

/** A setting of a service, and its place. */
interface ServiceSetting {
  readonly keyword: string;
  readonly value: string;
  /** `"file", line 3`. */
  readonly where: string;
}

/** A service cannot be used. The message names file and line, but quotes no content, which may be secret. */
export class ServiceFault extends Error {}

/** Directories of system-wide files in the usual builds of libpq. */
const SYSTEM_DIRS = ['/etc/postgresql-common', '/etc', '/usr/local/pgsql/etc'];

/**
 * The settings of a service (PostgreSQL documentation, "The Connection Service File"). `file`: the file to look in
 * before the one of the system; by default `PGSERVICEFILE`, or `~/.pg_service.conf` if there is one. Throws a
 * `ServiceFault`.
 */
export function readService(
  name: string,
  file: string | undefined,
  { env, home }: Surroundings,
): readonly ServiceSetting[] {
  const own = file ?? env['PGSERVICEFILE'];
  const usual = join(home, '.pg_service.conf');
  const system = env['PGSYSCONFDIR'] === undefined ? SYSTEM_DIRS : [env['PGSYSCONFDIR']];
  const optional = [
    ...(own === undefined ? [usual] : []),
    ...system.map((dir) => join(dir, 'pg_service.conf')),
  ];
  const files = [...(own === undefined ? [] : [own]), ...optional.filter((path) => existsSync(path))];
  for (const path of files) {
    const found = sectionOf(name, path);
    if (found) return found;
  }
  throw new ServiceFault('the service is defined in no service file');
}

function readText(path: string): string {
  const read = readSmallFile(path, { name: `the service file "${path}"` });
  if ('fault' in read) throw new ServiceFault(read.fault);
  return read.text;
}

/** The settings below `[name]`, the first of equal keywords; `undefined` without such a line. */
function sectionOf(name: string, path: string): readonly ServiceSetting[] | undefined {
  let isFound = false;
  const settings = new Map<string, ServiceSetting>();
  for (const [index, raw] of readText(path).split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith('[')) {
      if (isFound) break;
      isFound = line === `[${name}]`;
    } else if (isFound) {
      const setting = settingOf(line, `"${path}", line ${index + 1}`);
      if (!settings.has(setting.keyword)) settings.set(setting.keyword, setting);
    }
  }
  return isFound ? [...settings.values()] : undefined;
}

function settingOf(line: string, where: string): ServiceSetting {
  if (/^ldaps?:/i.test(line)) throw new ServiceFault(`LDAP is not supported in ${where}`);
  const equals = line.indexOf('=');
  if (equals < 1) throw new ServiceFault(`no "keyword=value" in ${where}`);
  const keyword = line.slice(0, equals);
  if (keyword === 'service' || keyword === 'servicefile')
    throw new ServiceFault(`a service cannot refer to another in ${where}`);
  return { keyword, value: line.slice(equals + 1), where };
}
