import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import type { Actor, Turn } from '../actor.ts';

interface Visit {
  readonly server: string;
  readonly certificate: string;
  readonly version: 'TLSv1.2' | 'TLSv1.3';
  readonly session?: Buffer | undefined;
}

interface Visited {
  readonly response: string;
  readonly session: Buffer | undefined;
  readonly failure: string;
}

const SHALLOW = 'shallow.example';
const REVOKING = 'revoking.example';

/** Which server takes which certificate, whatever session a client resumes. */
const MAY_ENTER: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  [SHALLOW]: { deep: false, revoked: true },
  // The list has nothing of the authorities below: a chain through them cannot be judged.
  [REVOKING]: { deep: false, revoked: false },
};

/** Clients whose certificate one server takes and another does not, and who resume the session of either at the other. */
export const resumptions: Actor = {
  name: 'resumptions',
  async act(turn) {
    const { random } = turn;
    const certificate = random.pick(['deep', 'revoked']);
    const version = random.pick(['TLSv1.2', 'TLSv1.3'] as const);
    let session: Buffer | undefined;
    for (const server of [random.pick([SHALLOW, REVOKING]), random.pick([SHALLOW, REVOKING])]) {
      const visited = await visit(turn, { server, certificate, version, session });
      judgeVisit(turn, `${certificate} at ${server}, ${version}${session ? ', resumed' : ''}`, {
        visited,
        mayEnter: MAY_ENTER[server]?.[certificate] ?? false,
      });
      session = visited.session;
    }
  },
};

async function visit(turn: Turn, { server, certificate, version, session }: Visit): Promise<Visited> {
  const { certificatePort: port, dir } = turn.stage.sites;
  const [cert, key] = ['crt', 'key'].map((kind) => readFileSync(join(dir, `${certificate}.${kind}`)));
  let kept: Buffer | undefined;
  let response = '';
  let failure = '';
  const socket: TLSSocket = connect({
    host: '127.0.0.1',
    port,
    servername: server,
    rejectUnauthorized: false,
    session,
    cert,
    key,
    minVersion: version,
    maxVersion: version,
  });
  socket
    .on('session', (made: Buffer) => (kept = made))
    .on('error', (error: NodeJS.ErrnoException) => (failure = error.code ?? error.message))
    .on('data', (chunk: Buffer) => (response += chunk.toString('latin1')));
  socket.end(`GET / HTTP/1.1\r\nHost: ${server}\r\nConnection: close\r\n\r\n`);
  await once(socket, 'close').catch(() => undefined);
  return { response, session: kept, failure };
}

function judgeVisit(
  turn: Turn,
  line: string,
  { visited: { response, failure }, mayEnter }: { visited: Visited; mayEnter: boolean },
): void {
  const hasEntered = response.includes('entered');
  turn.count(hasEntered ? 'entered' : (/^HTTP\/1\.1 (\d+)/.exec(response)?.[1] ?? (failure || 'closed')));
  if (hasEntered && !mayEnter) turn.violation(`a client enters with a certificate that is refused`, line);
}
