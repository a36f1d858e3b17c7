import { expect, test } from 'vitest';
import { redis } from '../harness/redis.ts';
import { startKeyedNode } from './keys.ts';
import { freshNamespace } from './stores.ts';

type Node = ReturnType<typeof startKeyedNode>;

const valuesOf = ({ keys }: Node): Record<string, string> => Object.fromEntries(keys.values);

/** All nodes come to have the same values. */
async function equal(nodes: readonly Node[], expected?: Record<string, string>): Promise<void> {
  await expect
    .poll(() => {
      const [first, ...rest] = nodes.map((node) => ({
        values: valuesOf(node),
        waiting: node.keys.changes(1).length,
      }));
      return {
        first: expected ? first : 'any',
        differ: rest.some(
          (one) => JSON.stringify(sorted(one.values)) !== JSON.stringify(sorted(first?.values ?? {})),
        ),
      };
    })
    .toEqual({ first: expected ? { values: expected, waiting: 0 } : 'any', differ: false });
}

const sorted = (values: Record<string, string>): unknown =>
  Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1));

async function pair(): Promise<readonly [Node, Node]> {
  const { url } = await redis();
  const namespace = freshNamespace();
  const both = ['a', 'b'].map((id) => startKeyedNode(id, { url, namespace })) as unknown as [Node, Node];
  await expect.poll(() => both.map(({ node }) => node.status.state)).toEqual(['up', 'up']);
  return both;
}

test('what one node sets and deletes all have', async () => {
  const [a, b] = await pair();
  a.keys.set('x', '1');
  a.keys.set('y', '2');
  await equal([a, b], { x: '1', y: '2' });
  b.keys.set('x');
  b.keys.set('y', '3');
  await equal([a, b], { y: '3' });
  expect(a.counts).toMatchObject({ sent: 2, received: 2 });
  expect(a.log).toEqual([]);
});
