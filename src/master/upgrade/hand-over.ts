import { type ChildProcess, fork, type SendHandle } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { addressText, type PortPlan } from '../../plan/index.ts';
import { helperEnvironment, listeningSockets } from '../../system/index.ts';
import type { BoundSocket } from '../bound-sockets.ts';
import type { ToSupervisor } from '../protocol.ts';

/** Time limit for the copies of all sockets. It includes the start of the process that sends them. */
const COPY_MS = 5_000;
const CLOSED_CHECK_MS = 100;

/**
 * Sends copies of all sockets on which this process listens to the supervisor, for a new master. Those of
 * uWebSockets.js are found by their descriptors, because it does not tell them. They stay open here until this process
 * closes its own, so that no connection is lost that waits in a backlog.
 */
export async function handOver(ports: readonly PortPlan[]): Promise<void> {
  let fault: string | undefined;
  try {
    const found = socketsOf(ports);
    const copies = await copiesOf(found.map(({ fd }) => fd));
    for (const [index, copy] of copies.entries()) {
      await tell({ type: 'copy', key: found[index]?.key as string }, copy);
      copy.close();
    }
  } catch (error) {
    fault = `its sockets cannot be handed over: ${(error as Error).message}`;
  }
  await tell({ type: 'handed', fault });
}

/**
 * Resolves when this process has closed its sockets of these ports, whichever of its threads had opened them. Unix
 * sockets do not count: the handles of some stay open so that their files stay (see `SharedSockets`).
 */
export async function untilClosed(ports: readonly PortPlan[]): Promise<void> {
  const inet = ports.filter(({ address }) => address.kind === 'inet');
  while (socketsOf(inet).length > 0) await delay(CLOSED_CHECK_MS, undefined, { ref: false });
}

function socketsOf(ports: readonly PortPlan[]): ReturnType<typeof listeningSockets> {
  return listeningSockets(ports.map(({ address }) => ({ key: addressText(address), address })));
}

function tell(message: ToSupervisor, socket?: BoundSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    // A handle of libuv can be sent, although the types do not say so.
    process.send?.(message, socket as (BoundSocket & SendHandle) | undefined, undefined, (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

/**
 * Returns copies of sockets of this process, which other threads use. Node.js copies a descriptor only for another
 * process, so a small process inherits all of them and sends them back.
 */
async function copiesOf(descriptors: readonly number[]): Promise<readonly BoundSocket[]> {
  if (descriptors.length === 0) return [];
  const program = fileURLToPath(new URL('../master/upgrade/sending-process.cjs', import.meta.url));
  const sender = fork(program, [String(descriptors.length)], {
    env: helperEnvironment(),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', ...descriptors],
  });
  const signal = AbortSignal.timeout(COPY_MS);
  try {
    return await received(sender, descriptors.length, signal);
  } finally {
    sender.kill('SIGKILL');
  }
}

async function received(
  sender: ChildProcess,
  count: number,
  signal: AbortSignal,
): Promise<readonly BoundSocket[]> {
  const ended = once(sender, 'exit', { signal }).then(() => {
    throw new Error('the process that copies them has ended');
  });
  const copies = new Promise<readonly BoundSocket[]>((resolve) => {
    const sockets: BoundSocket[] = [];
    sender.on('message', ({ index }: { index: number }, socket: SendHandle) => {
      sockets[index] = socket as SendHandle & BoundSocket;
      if (Object.keys(sockets).length === count) resolve(sockets);
    });
  });
  return Promise.race([copies, ended]);
}
