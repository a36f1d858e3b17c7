import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withListen } from '../harness/conf.ts';
import { launch } from '../harness/launch.ts';
import type { Owner } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { connectRaw } from '../harness/raw.ts';

/** Whether a real nginx confirms the recorded cases; that does not depend on our engine, so one run of the tests is enough. */
export const HAS_NGINX = !ON_NODE_ENGINE && spawnSync('nginx', ['-v']).error === undefined;

/** Where Debian's packages put dynamic modules. */
const MODULES = '/usr/lib/nginx/modules';
const modulePath = (name: string): string => join(MODULES, `ngx_${name}_module.so`);

/** Whether nginx can load these dynamic modules. */
export function hasModules(names: readonly string[]): boolean {
  return names.every((name) => existsSync(modulePath(name)));
}

/** The dynamic modules that a configuration names in `# modules: http_echo http_geoip2`. */
export function modulesOf(http: string): readonly string[] {
  return /^# modules: (.*)$/m.exec(http)?.[1]?.split(' ') ?? [];
}

/**
 * Starts the real nginx on the content of `http`, with the port in place of `PORT` and where a server has no `listen`.
 * `files` stand beside its configuration.
 */
export async function startNginx(
  t: Owner,
  http: string,
  files: Readonly<Record<string, string>> = {},
): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-nginx-'));
  const port = await freePort();
  mkdirSync(join(dir, 'temp'));
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${dir}/temp/${kind};`,
  );
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
  writeFileSync(
    join(dir, 'nginx.conf'),
    `${modulesOf(http)
      .map((name) => `load_module ${modulePath(name)};`)
      .join(' ')}
     daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log; events {}
     http { access_log off; ${temp.join(' ')} ${withListen(http.replaceAll('PORT', String(port)), port)} }`,
  );
  const nginx = launch('nginx', ['-p', dir, '-c', join(dir, 'nginx.conf')], { cwd: dir });
  t.onTestFinished(async () => {
    await nginx.stop('SIGTERM');
    rmSync(dir, { recursive: true });
  });
  for (;;) {
    if (nginx.exit()) throw new Error(`nginx did not start: ${nginx.output()}`);
    const connection = await connectRaw(port).catch(() => undefined);
    connection?.destroy();
    if (connection) return port;
    await sleep(10);
  }
}
