import type { Duplex } from 'node:stream';
import { guarded } from '../guarded.ts';
import type { Failing } from '../guarded.ts';

/** Who hears what goes through a tunnel, and of its end. */
export interface TunnelOwner extends Failing {
  wrote(bytes: number): void;
  ended(): void;
}

/** Carries bytes both ways until one side has ended and the other has what came before (nginx: an upgraded connection). */
export function joinStreams(client: Duplex, upstream: Duplex, owner: TunnelOwner): void {
  let isOver = false;
  const over = guarded(owner, () => {
    if (isOver) return;
    isOver = true;
    client.destroy();
    upstream.destroy();
    owner.ended();
  });
  upstream.on(
    'data',
    guarded(owner, (bytes: Buffer) => owner.wrote(bytes.length)),
  );
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.on('error', over).on('close', over);
    to.on('finish', over);
    from.pipe(to);
  }
}
