import type { GatewayPlan, LocationPlan } from './plan.ts';

/** Every location of every server, the server levels and nested ones included. */
export function allLocations({ servers }: GatewayPlan): readonly LocationPlan[] {
  const found: LocationPlan[] = [];
  const waiting = servers.flatMap(({ root, named }) => [root, ...named]);
  for (let location = waiting.pop(); location; location = waiting.pop()) {
    found.push(location);
    waiting.push(...location.locations, ...(location.blocks ?? []).map(({ plan }) => plan));
  }
  return found;
}
