import type { Build } from '../../contract/index.ts';
import { compileNamedFile, type Exchange } from '../../http/index.ts';
import { type IssuerDocuments, issuerZone } from '../../issuer/index.ts';
import type { AuthJwtConfig } from './directives.ts';
import { secretKeys } from '../../tokens/index.ts';
import { sourceOf, type TokenIssuer } from './issuer-directives.ts';
import type { KeyFiles } from './key-files.ts';
import type { KeyOrigin } from './key-ring.ts';
import { compileKeyRequest, type KeptResponses } from './key-request.ts';

/** The sources of keys that locations of a worker share. */
export interface KeySources {
  readonly files: KeyFiles;
  /** By the name of their zone; empty where requests are explained. */
  readonly documents: ReadonlyMap<string, IssuerDocuments>;
  /** Of the locations with one config. */
  readonly responses: KeptResponses | undefined;
}

/** Compiles the sources that a location names itself. */
export function compileOrigins(
  config: AuthJwtConfig,
  sources: KeySources,
  build: Build,
): readonly KeyOrigin[] {
  const { keyFiles = [], keyRequests = [], keyCacheMs } = config;
  const { files, documents, responses } = sources;
  return [
    ...nginzOrigins(config, sources, build),
    ...keyFiles.map((file): KeyOrigin => {
      if ('path' in file) return fileOrigin(() => file.path, files.jwks, keyCacheMs);
      const pathOf = compileNamedFile(file, build, 'key file');
      return { ...fileOrigin(pathOf, files.jwks, keyCacheMs), isOfRequest: true };
    }),
    ...keyRequests.map((request) =>
      'uri' in request
        ? compileKeyRequest(request, responses, build)
        : documentOrigin(request.url, documents.get(issuerZone({ keysUrl: request.url }).name)),
    ),
  ];
}

/** nginz takes the secret only where there are no keys. */
function nginzOrigins(
  { secret, nginzKeys = [] }: AuthJwtConfig,
  { files, responses }: KeySources,
  build: Build,
): readonly KeyOrigin[] {
  if (secret === 'off') return [];
  const text = nginzKeys.length === 0 ? secret?.secret : undefined;
  const fixed = text === undefined ? undefined : secretKeys(text);
  return [
    ...(fixed ? [{ known: () => fixed }] : []),
    ...nginzKeys.map(({ source, format }) =>
      'path' in source
        ? fileOrigin(() => source.path, files[format], 0)
        : compileKeyRequest({ uri: source.uri, format }, responses, build),
    ),
  ];
}

/** The sources of the keys of an issuer. */
export function issuerOrigins(
  issuer: TokenIssuer,
  { files, documents }: Pick<KeySources, 'files' | 'documents'>,
): readonly KeyOrigin[] {
  const { keyFile } = issuer;
  const source = sourceOf(issuer);
  return [
    ...(keyFile === undefined ? [] : [fileOrigin(() => keyFile, files.jwks, 0)]),
    ...(source ? [documentOrigin(issuer.name, documents.get(issuerZone(source).name))] : []),
  ];
}

function fileOrigin(pathOf: (x: Exchange) => string, files: KeyFiles['jwks'], cacheMs: number): KeyOrigin {
  return {
    known(x, nowMs) {
      const content = files.content(pathOf(x), cacheMs, nowMs);
      return 'value' in content ? content.value : content;
    },
  };
}

function documentOrigin(name: string, documents: IssuerDocuments | undefined): KeyOrigin {
  if (!documents) return { known: () => ({ fault: `the keys of "${name}" are not fetched` }) };
  return {
    known: () => documents.keys(),
    ask: (_x, missing) => documents.ask(missing),
  };
}
