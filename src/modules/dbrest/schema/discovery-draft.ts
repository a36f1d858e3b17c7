import type { DiscoveryEntries, Namespace, TypeShape } from './discovery.ts';
import { accessOf, namespaceOf, shapeOf } from './discovery.ts';
import type { Relation, Relations } from './relation.ts';

/** An entry with its section. */
export type DiscoveryEntry = {
  [S in keyof DiscoveryEntries]: readonly [section: S, entry: DiscoveryEntries[S]];
}[keyof DiscoveryEntries];

/** Takes the entries of the sections that only the description of an API needs. */
export class DiscoveryDraft {
  readonly shapes = new Map<string, TypeShape>();
  readonly namespaces = new Map<string, Namespace>();

  add([section, entry]: DiscoveryEntry, relations: Relations): void {
    switch (section) {
      case 'access': {
        const relation = relations.get(entry[0]) as Relation;
        relation.access = accessOf(entry, relation.columnNames);
        break;
      }
      case 'shape':
        this.shapes.set(entry[0], shapeOf(entry));
        break;
      case 'namespace':
        this.namespaces.set(entry[0], namespaceOf(entry));
    }
  }
}
