import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const RECORDER = fileURLToPath(new URL('recorder.cjs', import.meta.url));
const TIMEOUT_MS = 20_000;

/** The configuration of the runs. Code that they do not use is compiled when it is needed. */
const CONFIGURATION = `
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
error_log error.log notice;
http {
    access_log off;
    server {
        listen unix:listen.sock;
        location / { return 200 "$remote_addr\\n"; }
        location /files/ { root .; }
        location ~ \\.php$ { deny all; }
        location /app/ { proxy_pass http://127.0.0.1:9; }
    }
}
`;

/**
 * Runs the programs in `dist/` and keeps the code that V8 compiles for them beside their files. `chunks` are the paths
 * of these files. Rejects if a program fails or nothing has been kept.
 */
export async function recordCode(chunks) {
  const directory = mkdtempSync(join(tmpdir(), 'gw-build-'));
  const configuration = ['-p', directory, '-c', join(directory, 'gw.conf')];
  try {
    writeFileSync(join(directory, 'gw.conf'), CONFIGURATION);
    await ended(gw('-t', ...configuration));
    await ended(gw('check', join(directory, 'gw.conf')));
    await ended(gw('explain', ...configuration, 'GET', '/'));
    await recordGateway(directory, gw(...configuration));
    const kept = `.${process.version}-${process.arch}`;
    if (!chunks.some((path) => existsSync(path + kept))) throw new Error('no code was kept');
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function recordGateway(directory, gateway) {
  const deadline = Date.now() + TIMEOUT_MS;
  const log = join(directory, 'error.log');
  while (!existsSync(log) || !readFileSync(log, 'utf8').includes('start worker processes')) {
    if (gateway.exitCode !== null || Date.now() > deadline) break;
    await sleep(20);
  }
  const [response] = await once(
    request({ socketPath: join(directory, 'listen.sock'), path: '/' }).end(),
    'response',
  ).catch(() => []);
  response?.resume();
  gateway.kill('SIGQUIT');
  await ended(gateway);
}

function gw(...args) {
  const options = `${process.env.NODE_OPTIONS ?? ''} --require "${RECORDER}"`;
  return spawn(process.execPath, ['dist/bin/gw.js', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: options },
    timeout: TIMEOUT_MS,
  });
}

async function ended(program) {
  let said = '';
  program.stderr.on('data', (chunk) => (said += chunk));
  const [code, signal] = await once(program, 'close');
  // A check may have findings.
  if (code !== 0 && code !== 1)
    throw new Error(`${program.spawnargs.slice(1).join(' ')} ended with ${code ?? signal}: ${said}`);
}
