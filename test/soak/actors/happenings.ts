import type { Actor, Happening } from '../actor.ts';

/** One happening after the other, with pauses during which everything has to work. */
export function happenings(list: readonly Happening[]): Actor {
  const drawn = list.flatMap((happening) => Array.from({ length: happening.weight }, () => happening));
  return {
    name: 'happenings',
    restMs: 3_000,
    limitMs: 90_000,
    async act(turn) {
      const happening = turn.random.pick(drawn);
      turn.count(happening.name);
      await turn.stage.disturbances.during(happening.hits, async () => {
        try {
          await happening.happen(turn);
        } catch (error) {
          turn.violation(`${happening.name}: ${(error as Error).message}`);
        }
      });
    },
  };
}
