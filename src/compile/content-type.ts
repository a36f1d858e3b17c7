import type { CoreConfig, LocationFacts } from '../contract/index.ts';
import type { Exchange } from '../http/index.ts';

/** `types` and `default_type` of a location: the content type that `$uri` asks for (nginx ngx_http_set_content_type). */
export function compileContentType(
  { types = {}, defaultType }: Pick<CoreConfig, 'types' | 'defaultType'>,
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
