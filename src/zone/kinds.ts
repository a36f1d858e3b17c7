import type { ZoneDeclaration, ZoneKind } from './declaration.ts';
import { dictionaryKind } from './dictionary/kind.ts';
import { MAGIC_WORD } from './layout.ts';
import { connectionLimitKind, requestLimitKind } from './limits/kinds.ts';
import { peersKind } from './peers/kind.ts';
import { ringKind } from './ring-kind.ts';

type Kinds = {
  readonly [K in ZoneDeclaration['kind']]: ZoneKind<Extract<ZoneDeclaration, { kind: K }>>;
};

const KINDS: Kinds = {
  ring: ringKind,
  dictionary: dictionaryKind,
  'request limit': requestLimitKind,
  'connection limit': connectionLimitKind,
  peers: peersKind,
};

/** The row of a declaration's kind. */
export function kindOf<D extends ZoneDeclaration>({ kind }: D): ZoneKind<D> {
  return KINDS[kind] as unknown as ZoneKind<D>;
}

/** The row of the kind that lies in a zone's memory. Throws for memory that is no zone. */
export function kindIn(buffer: SharedArrayBuffer): ZoneKind<ZoneDeclaration> {
  const magic = new Uint32Array(buffer, 0, 1)[MAGIC_WORD];
  const found = Object.values(KINDS).find((kind) => kind.magic === magic);
  if (!found) throw new TypeError('the shared memory holds no zone');
  return found as ZoneKind<ZoneDeclaration>;
}
