import { MAX_ZONE_BYTES, ringBytes } from './layout.ts';

/** Shared memory that a configuration asks for by name; plain data in the plan. */
export interface ZoneDeclaration {
  readonly name: string;
  readonly kind: 'ring';
  /** Entries of the ring. */
  readonly capacity: number;
  /** The size that the configuration grants; without it the zone is as large as its ring. */
  readonly sizeBytes?: number;
}

/** Bytes of shared memory that a zone takes. */
export function zoneBytes({ capacity }: ZoneDeclaration): number {
  return ringBytes(capacity);
}

/** Why this zone cannot exist, as a whole message that states the bytes needed; `undefined` when it can. */
export function zoneFault(declaration: ZoneDeclaration): string | undefined {
  const { name, capacity, sizeBytes } = declaration;
  const bytes = zoneBytes(declaration);
  const need = `a ring of ${capacity} ${capacity === 1 ? 'entry' : 'entries'} needs ${bytes} bytes`;
  if (bytes > MAX_ZONE_BYTES)
    return `zone "${name}" is too large: ${need}, at most ${MAX_ZONE_BYTES} are allowed`;
  if (sizeBytes !== undefined && sizeBytes < bytes)
    return `zone "${name}" is too small: ${need}, ${sizeBytes} given`;
  return undefined;
}

/** Why `later` cannot share the zone that `earlier` declared under the same name; `undefined` when it can. */
export function zoneConflict(later: ZoneDeclaration, earlier: ZoneDeclaration): string | undefined {
  if (later.name !== earlier.name || later.capacity === earlier.capacity) return undefined;
  return `ring size ${later.capacity} of zone "${later.name}" conflicts with already declared size ${earlier.capacity}`;
}
