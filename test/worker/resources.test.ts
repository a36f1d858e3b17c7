import { expect, test } from 'vitest';
import { OwnedResources, SharedResources } from '../../src/worker/index.ts';

function thread(): { configuration(): OwnedResources; events: string[] } {
  const events: string[] = [];
  const shared = new SharedResources();
  const log = { write: (_: string, message: string) => void events.push(message) };
  return { events, configuration: () => new OwnedResources({ shared, log, prefix: '/' }) };
}

function open(configuration: OwnedResources, key: string, events: string[]): object {
  return configuration.share(
    key,
    () => {
      events.push(`open ${key}`);
      return { key };
    },
    () => void events.push(`close ${key}`),
  );
}

test('a shared resource survives a reload and closes with the last configuration that uses it', async () => {
  const { configuration, events } = thread();
  const [before, after] = [configuration(), configuration()];
  const pool = open(before, 'pool', events);
  expect(open(before, 'pool', events)).toBe(pool);
  expect(open(after, 'pool', events)).toBe(pool);
  await before.close();
  expect(events).toEqual(['open pool']);
  await after.close();
  expect(events).toEqual(['open pool', 'close pool']);
});

test('resources close in reverse order, and one that cannot be closed is logged and delays no other', async () => {
  const { configuration, events } = thread();
  const only = configuration();
  only.own('first', (name) => void events.push(`close ${name}`));
  only.own('second', () => Promise.reject(new Error('stuck')));
  open(only, 'third', events);
  await only.close();
  await only.close();
  expect(events).toEqual(['open third', 'close third', 'closing a resource failed: stuck', 'close first']);
});
