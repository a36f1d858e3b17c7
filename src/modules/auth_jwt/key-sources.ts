import type { Build } from '../../contract/index.ts';
import { compileNamedFile, type Exchange } from '../../http/index.ts';
import { type IssuerDocuments, issuerZone } from '../../issuer/index.ts';
import type { AuthJwtConfig } from './directives.ts';
import { sourceOf, type TokenIssuer } from './issuer-directives.ts';
import type { KeyFiles } from './key-files.ts';
import type { KeyOrigin } from './key-origin.ts';
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
  { keyFiles = [], keyRequests = [], keyCacheMs }: AuthJwtConfig,
  { files, documents, responses }: KeySources,
  build: Build,
): readonly KeyOrigin[] {
  return [
    ...keyFiles.map((file): KeyOrigin => {
      const pathOf = 'path' in file ? () => file.path : compileNamedFile(file, build, 'key file');
      return fileOrigin(pathOf, files, keyCacheMs);
    }),
    ...keyRequests.map((request) =>
      'uri' in request
        ? compileKeyRequest(request.uri, responses, build)
        : documentOrigin(request.url, documents.get(issuerZone({ keysUrl: request.url }).name)),
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
    ...(keyFile === undefined ? [] : [fileOrigin(() => keyFile, files, 0)]),
    ...(source ? [documentOrigin(issuer.name, documents.get(issuerZone(source).name))] : []),
  ];
}

function fileOrigin(pathOf: (x: Exchange) => string, files: KeyFiles, cacheMs: number): KeyOrigin {
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
