import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, readers, type ReadScope } from '../../config/index.ts';
import type { LocationMatch } from '../../contract/index.ts';
import { issuerUrlFault } from '../../issuer/index.ts';

/** `auth_jwt_resource`: a resource that tokens are issued for (RFC 9728). */
export type ResourceConfig = 'off' | ProtectedResource;

export interface ProtectedResource {
  /** Its URL; absent: made of the scheme, the name of the server and the path. */
  readonly url?: string;
  /** The path of the block with the directive; '' on server level. */
  readonly path: string;
  /** True if only requests for this path belong to it: the tools of a location. */
  readonly isTools?: true;
  readonly scopes?: readonly string[];
  readonly documentation?: string;
}

/** Reads `on | URL | off ["scopes=a b"] [docs=URL]`. */
export const protectedResource: ArgReader<ResourceConfig> = readers.words(
  { syntax: 'on | URL | off ["scopes=name ..."] [docs=URL]', min: 1, max: 3 },
  ([first, ...parameters], scope) => {
    const { value, span } = first as Word;
    if (value === 'off' && parameters.length === 0) return 'off';
    const path = value === 'on' ? pathOf(scope) : '';
    if (path === undefined) return undefined;
    const fault = value === 'on' ? undefined : issuerUrlFault(value);
    if (fault !== undefined) {
      scope.report.emerg(`invalid value "${value}" in "${scope.directive}" directive`, span, fault);
      return undefined;
    }
    return readParameters({ path, ...(value !== 'on' && { url: value }) }, parameters, scope);
  },
);

/** The path of the enclosing block. */
function pathOf({ block, directive, report, span }: ReadScope): string | undefined {
  if (block.context !== 'location') return '';
  const match = block.args as LocationMatch | undefined;
  if (match?.kind === 'prefix' || match?.kind === 'exact') return match.path === '/' ? '' : match.path;
  report.emerg(`"${directive} on" in a location without a path`, span, 'give the URL of the resource');
  return undefined;
}

function readParameters(
  resource: ProtectedResource,
  parameters: readonly Word[],
  { report }: ReadScope,
): ProtectedResource | undefined {
  let read = resource;
  for (const { value, span } of parameters) {
    const [, name, text = ''] = /^(scopes|docs)=(.+)$/s.exec(value) ?? [];
    if (name === 'scopes') read = { ...read, scopes: text.split(/ +/).filter(Boolean) };
    else if (name === 'docs' && URL.canParse(text)) read = { ...read, documentation: text };
    else {
      report.emerg(`invalid parameter "${value}"`, span, 'expected "scopes=name ..." or docs=URL');
      return undefined;
    }
  }
  return read;
}
