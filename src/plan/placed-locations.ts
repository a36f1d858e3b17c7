import { locationText } from './location-text.ts';
import type { GatewayPlan, LocationPlan, ModuleConfigs, ServerPlan } from './plan.ts';

/** A location as people name it, and what its modules do there. */
export interface PlacedLocation {
  /** The first name of its server. */
  readonly server: string;
  /** As the configuration writes it. */
  readonly text: string;
  /** Of a prefix or an exact location; else its text. */
  readonly path: string;
  /** `file:line`. */
  readonly place: string;
  readonly modules: ModuleConfigs;
}

/** Every location in the order of the configuration, nested ones behind those around them; `if` blocks are none. */
export function placedLocations({ servers }: GatewayPlan): readonly PlacedLocation[] {
  return servers.flatMap((server) =>
    [...server.root.locations, ...server.named].flatMap((location) => placed(location, server)),
  );
}

function placed(
  { match, place, modules, locations }: LocationPlan,
  server: ServerPlan,
): readonly PlacedLocation[] {
  const text = match ? locationText(match) : '';
  const path = match && 'path' in match ? match.path : text;
  return [
    { server: server.name, text, path, place, modules },
    ...locations.flatMap((inner) => placed(inner, server)),
  ];
}
