import { contextsText, syntaxOf } from './choose.ts';
import type { Entry, Registry } from './registry.ts';

/** A directive as people look it up. */
export interface DirectiveFacts {
  readonly name: string;
  readonly module: string;
  /** `Syntax` of nginx's documentation, with its end. */
  readonly syntax: string;
  readonly contexts: readonly string[];
  readonly default?: string;
  readonly summary: string;
  /** Page of nginx's documentation, for what nginx has too. */
  readonly nginx?: string;
  readonly repeatable: boolean;
  readonly secret: boolean;
  /** Why it has no effect, where it has none. */
  readonly accepted?: string;
}

/** Every directive, module by module. */
export function directiveFacts(registry: Registry): readonly DirectiveFacts[] {
  return registry.entries.map((entry) => factsOf(entry, registry));
}

/** One directive. */
export function factsOf({ name, owner, row }: Entry, registry: Registry): DirectiveFacts {
  const isBlock = 'opens' in row || 'data' in row;
  const fallback = defaultText(row);
  const nginx = nginxPage(row.source);
  return {
    name,
    module: owner,
    syntax: `${syntaxOf(name, row)}${isBlock ? '' : ';'}`,
    contexts: contextsText(row.contexts, registry).split(', '),
    ...(fallback !== undefined && { default: fallback }),
    summary: row.summary,
    ...(nginx !== undefined && { nginx }),
    repeatable: 'repeat' in row && row.repeat === 'append',
    secret: row.secret !== undefined,
    ...('accepted' in row && { accepted: row.accepted }),
  };
}

function nginxPage(source: string): string | undefined {
  const [, module, directive] = /^nginx (\w+)#(\w+)$/.exec(source) ?? [];
  if (module === undefined) return undefined;
  const page = module === 'ngx_core_module' ? module : `http/${module}`;
  return `https://nginx.org/en/docs/${page}.html#${directive}`;
}

function defaultText(row: Entry['row']): string | undefined {
  if ('defaultText' in row && row.defaultText !== undefined) return row.defaultText;
  if (!('default' in row) || row.default === undefined) return undefined;
  if (typeof row.default === 'boolean') return row.default ? 'on' : 'off';
  return typeof row.default === 'object' ? undefined : String(row.default);
}
