import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { freePort } from '../harness/ports.ts';
import type { Bench } from './bench.ts';
import { NotInstalled, programPath } from './programs.ts';
import { type Content, EVENTS, HTTP_SETTINGS, ownDir, partsOf, type Server, startServer } from './servers.ts';

export interface NginxOptions {
  /** Default 1. */
  readonly workers?: number;
  /** Paths of modules to load, from `nchanModule` and `luaModules`. */
  readonly modules?: readonly string[];
}

/** An nginx with one server of this content and one worker, with the files of its documentation's tuning. */
export async function startNginx(
  bench: Bench,
  content: Content,
  { workers = 1, modules = [] }: NginxOptions = {},
): Promise<Server> {
  const { http, server } = partsOf(content);
  const program = programPath('nginx');
  const port = await freePort();
  const dir = ownDir(bench, `nginx-${port}`);
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${dir}/${kind};`,
  );
  writeFileSync(
    join(dir, 'nginx.conf'),
    `${modules.map((path) => `load_module ${path};`).join(' ')}
     daemon off; worker_processes ${workers}; pid ${dir}/nginx.pid; error_log ${dir}/error.log;
     ${EVENTS}
     http {
       ${HTTP_SETTINGS}
       sendfile on; tcp_nopush on;
       ${temp.join(' ')}
       ${http}
       server { listen 127.0.0.1:${port} backlog=4096${workers > 1 ? ' reuseport' : ''}; ${server} }
     }\n`,
  );
  return startServer(bench, { command: [program, '-p', dir, '-c', join(dir, 'nginx.conf')], dir, port });
}

/** The module of nchan; throws `NotInstalled`. */
export function nchanModule(): string[] {
  return [modulePath('ngx_nchan_module.so', 'nchan')];
}

/** What `content_by_lua_block` takes: modules, and the line of `http` that finds lua-resty-redis, with its name. */
export function luaRedis(): { readonly modules: string[]; readonly http: string; readonly name: string } {
  const modules = ['ndk_http_module.so', 'ngx_http_lua_module.so'].map((file) =>
    modulePath(file, 'lua-resty-redis'),
  );
  const found = LUA_DIRS.flatMap((dir) => LUA_NAMES.map((name) => ({ dir, name }))).find(({ dir, name }) =>
    existsSync(join(dir, `${name.replace('.', '/')}.lua`)),
  );
  if (found === undefined) throw new NotInstalled('lua-resty-redis');
  return { modules, http: `lua_package_path "${found.dir}/?.lua;;";`, name: found.name };
}

const LUA_DIRS = ['/usr/share/lua/5.1', '/usr/local/share/lua/5.1', '/usr/local/openresty/lualib'];
/** As its author calls it, and as Debian does. */
const LUA_NAMES = ['resty.redis', 'nginx.redis'];

function modulePath(file: string, name: 'nchan' | 'lua-resty-redis'): string {
  const path = join(modulesDir(), file);
  if (!existsSync(path)) throw new NotInstalled(name);
  return path;
}

/** Where nginx itself says that its modules are. */
function modulesDir(): string {
  const program = programPath('nginx');
  // Versions and arguments go to standard error.
  const output = execFileSync('/bin/sh', ['-c', '"$0" -V 2>&1', program], { encoding: 'utf8' });
  const [, dir = 'modules'] = /--modules-path=(\S+)/.exec(output) ?? [];
  return resolve(dirname(program), '..', dir);
}
