import { placeOf } from '../../grammar/index.ts';
import type { Report, Span } from '../../grammar/index.ts';
import { zoneConflict, zoneFault } from '../zone/index.ts';
import type { ZoneDeclaration } from '../zone/index.ts';

interface Declared {
  readonly zone: ZoneDeclaration;
  readonly span: Span | undefined;
}

/** Gathers the zones that locations name; the same name must mean the same zone everywhere. */
export class ZoneCollector {
  readonly #byName = new Map<string, Declared>();
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  add(zone: ZoneDeclaration, span: Span | undefined): void {
    const fault = zoneFault(zone);
    if (fault !== undefined) return this.#report.emerg(fault, span);
    const first = this.#byName.get(zone.name);
    if (!first) return void this.#byName.set(zone.name, { zone, span });
    const conflict = zoneConflict(zone, first.zone);
    if (conflict === undefined) return;
    const { span: firstSpan } = first;
    this.#report.emerg(conflict, span, {
      rule: 'duplicate-directive',
      ...(firstSpan && {
        hint: declaredAt(firstSpan),
        related: [{ span: firstSpan, label: 'first declared here' }],
      }),
    });
  }

  get declarations(): readonly ZoneDeclaration[] {
    return [...this.#byName.values()].map(({ zone }) => zone);
  }
}

function declaredAt(span: Span): string {
  const { file, line, column } = placeOf(span);
  return `first declared at ${file}:${line}:${column}`;
}
