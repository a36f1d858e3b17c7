import { expect, test } from 'vitest';
import type { RemoteEntry, Subject, Taken } from '../../src/cluster/node/subject.ts';
import { redis } from '../harness/redis.ts';
import { startLightNode } from './keys.ts';
import { freshNamespace } from './stores.ts';

/** Whenever it is asked, something has been published since. */
class BusySubject implements Subject {
  readonly stream = 'ev:a';
  readonly digest = 'test';
  readonly incarnation: string;
  readonly history = 0;
  readonly received: string[] = [];
  #sequence = 0;
  #isPublished = false;

  constructor(incarnation: string) {
    this.incarnation = incarnation;
  }

  get position(): undefined {
    return undefined;
  }

  watch(listener: () => void): () => void {
    listener();
    return () => undefined;
  }

  take(): Taken {
    this.#isPublished = !this.#isPublished;
    const entry = { sequence: (this.#sequence += 1), fields: ['from', this.incarnation] };
    return { entries: this.#isPublished ? [entry] : [], lost: 0 };
  }

  apply(entries: readonly RemoteEntry[]): boolean {
    this.received.push(...entries.map(({ fields }) => fields[1] ?? ''));
    return true;
  }

  accepts(): boolean {
    return true;
  }

  acknowledged(): void {}
  tellGap(): void {}
  tellLost(): void {}
}

test('nodes that publish all the time hear of others, beat, and leave', async () => {
  const { url } = await redis();
  const namespace = freshNamespace();
  const nodes = ['a', 'b'].map((id) => {
    const one = startLightNode(id, { url, namespace });
    const subject = new BusySubject(id);
    one.node.add(subject);
    return { ...one, subject };
  });
  const [a, b] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
  for (const { node } of nodes) {
    await expect.poll(() => node.status.state).toBe('up');
    await expect.poll(() => node.status.members_total).toBe(2);
  }
  await expect.poll(() => a.subject.received).toContain('b');
  await b.close();
  await expect.poll(() => a.node.status.members_total).toBe(1);
});
