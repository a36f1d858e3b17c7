import type { CoreConfig, LocationFacts } from '../contract/index.ts';
import { charsetOf } from '../http/index.ts';
import type { Exchange } from '../http/index.ts';

/** `types` and `default_type` of a location: the content type that `$uri` asks for (nginx ngx_http_set_content_type). */
export function compileContentType(
  { types = {}, defaultType }: Pick<CoreConfig, 'types' | 'defaultType'>,
  { kind, path }: Pick<LocationFacts, 'kind' | 'path'>,
): (x: Exchange) => string {
  const ofUri = compileTypeOf({ types, defaultType }, { kind, path });
  if (![...Object.values(types), defaultType].some((type) => charsetOf(type) !== ''))
    return (x) => x.keptType || ofUri(x);
  return (x) => x.keptType || (x.configuredType = ofUri(x));
}

function compileTypeOf(
  {
    types,
    defaultType,
  }: Pick<CoreConfig, 'defaultType'> & { readonly types: Readonly<Record<string, string>> },
  { kind, path }: Pick<LocationFacts, 'kind' | 'path'>,
): (x: Exchange) => string {
  const byExtension = new Map(Object.entries(types));
  if (byExtension.size === 0) return () => defaultType;
  const typeOf = (uri: string): string => byExtension.get(extensionOf(uri)) ?? defaultType;
  if (kind !== 'exact') return (x) => typeOf(x.uri);
  const usual = typeOf(path);
  return (x) => (x.uri === path ? usual : typeOf(x.uri));
}

/** In lower case; '' without one. A name that begins with its only dot has none (nginx ngx_http_set_exten). */
function extensionOf(uri: string): string {
  const dot = uri.lastIndexOf('.');
  return dot > uri.lastIndexOf('/') + 1 ? uri.slice(dot + 1).toLowerCase() : '';
}
