import { expect, test } from 'vitest';
import type { LeaseHolder } from '../../../src/cluster/index.ts';
import { GroupChanges } from '../../../src/modules/dynamic_upstreams/changes.ts';
import { Refresh } from '../../../src/modules/dynamic_upstreams/refresh.ts';
import type { Source } from '../../../src/modules/dynamic_upstreams/sources/source.ts';
import { type Member, readMembers } from '../../../src/upstream/index.ts';
import { Membership } from '../../../src/upstream/members/membership.ts';
import { createZone, SharedText } from '../../../src/zone/index.ts';
import { aloneCounters } from '../../harness/counters.ts';

const peersOf = (address: string): readonly Member[] => readMembers(JSON.stringify({ peers: [{ address }] }));

function openMembership(): Membership {
  const zone = createZone({ name: 'm', kind: 'shared text', bytes: 10_000 });
  const configured = (): readonly Member[] => peersOf('10.0.0.1:80');
  return new Membership(new SharedText(zone, 1), 8, { configured, isUnhealthy: () => false });
}

/** A source that gives the same peers only once, like a source with an ETag. */
function onceTold(members: readonly Member[], asked: () => void): Source {
  let left: readonly Member[] | undefined = members;
  return {
    ask: () => {
      asked();
      const found = left && { members: left };
      left = undefined;
      return Promise.resolve(found);
    },
  };
}

const log = { write: () => undefined };

/** The part of a worker that a refresh uses. */
const worker = {
  metrics: aloneCounters(),
  log,
  retiring: new AbortController().signal,
};

test('a gateway that asks again gets all peers of the source, also if they have not changed', async (t) => {
  const membership = openMembership();
  const target = { target: 'app', source: 'http', membership };
  const changes = new GroupChanges(target, { journal: undefined, publish: () => undefined, log });
  let holder: LeaseHolder = 'ours';
  let [held, asked] = [0, 0];
  const open = (): Source => onceTold(peersOf('10.0.0.2:80'), () => void (asked += 1));
  const lease = { hold: () => Promise.resolve(((held += 1), holder)), startMs: 0 };
  const options = { target: 'app', source: 'http', refreshMs: 5, acceptsEmpty: false };
  const refresh = new Refresh({ open, lease }, { membership, changes }, { options, worker });
  t.onTestFinished(() => refresh.close());
  const addresses = (): string =>
    membership
      .peers()
      .map(({ address }) => address)
      .join();
  await refresh.start();
  await expect.poll(() => asked).toBeGreaterThan(3);
  expect([addresses(), membership.set.generation]).toEqual(['10.0.0.2:80', 1]);

  holder = 'others';
  const others = { state: 'others', sequence: 0, seen: 1 } as const;
  membership.follow({ peers: peersOf('10.0.0.3:80'), draining: [] }, () => others);
  const from = held;
  await expect.poll(() => held).toBeGreaterThan(from + 1);
  const before = asked;
  await expect.poll(() => held).toBeGreaterThan(from + 5);
  expect([addresses(), asked]).toEqual(['10.0.0.3:80', before]);

  holder = 'ours';
  await expect.poll(addresses).toBe('10.0.0.2:80');
});
