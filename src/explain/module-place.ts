import type { BlockView } from '../config/index.ts';
import type { AnyModule } from '../contract/index.ts';
import { placeText } from './words.ts';

/** Where a module is told to act in a block. */
export interface ModuleSearch {
  readonly view: BlockView | undefined;
  readonly loaded: { readonly modules: readonly AnyModule[] };
  /** Which of the directives of its list decides. */
  readonly nth?: number | undefined;
}

/** The directive by which a module answers there, else the first of those it has there; '' for none. */
export function modulePlace(name: string, { view, loaded, nth = 0 }: ModuleSearch): string {
  const content = [loaded.modules.find((module) => module.name === name)?.content ?? []].flat();
  const fields = view ? [...view.from(name)] : [];
  const [, field] =
    fields.find(([each]) => content.includes(each)) ?? fields.find(([, { nodes }]) => nodes.length > 0) ?? [];
  return placeText((field?.nodes[nth] ?? field?.nodes[0])?.name.span);
}
