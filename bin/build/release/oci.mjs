import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { sha256 } from './archive.mjs';

/**
 * Writes an OCI image layout (OCI image specification 1.1) into a directory: layers that are compressed with gzip, from the
 * lowest, and what `config` says about running it. The name is a tag, which `docker load` gives the image, too.
 */
export async function writeLayout(directory, { layers, config, architecture, created, name }) {
  mkdirSync(join(directory, 'blobs/sha256'), { recursive: true });
  const blobs = [];
  for (const layer of layers) blobs.push(await addLayer(directory, layer));
  const described = imageConfig({
    config,
    architecture,
    created,
    diffIds: blobs.map(({ diffId }) => diffId),
  });
  const configBlob = addJson(directory, described, 'application/vnd.oci.image.config.v1+json');
  const manifest = addJson(
    directory,
    imageManifest(
      configBlob,
      blobs.map(({ descriptor }) => descriptor),
      config.Labels,
    ),
    'application/vnd.oci.image.manifest.v1+json',
  );
  writeJson(join(directory, 'oci-layout'), { imageLayoutVersion: '1.0.0' });
  writeJson(join(directory, 'index.json'), imageIndex(manifest, { architecture, name }));
  // What `docker load` read before it knew OCI layouts.
  const path = ({ digest }) => `blobs/${digest.replace(':', '/')}`;
  writeJson(join(directory, 'manifest.json'), [
    { Config: path(configBlob), RepoTags: [name], Layers: blobs.map(({ descriptor }) => path(descriptor)) },
  ]);
}

/** The config of an image, whose `diffIds` are the digests of its layers before compression. */
export function imageConfig({ config, architecture, created, diffIds }) {
  const history = diffIds.map(() => ({ created, created_by: 'npm run release' }));
  return {
    created,
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: diffIds },
    history,
  };
}

/** The manifest of an image with the annotations that its labels are. */
export function imageManifest(config, layers, annotations) {
  return {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config,
    layers,
    annotations,
  };
}

/** The index of a layout with one image. */
export function imageIndex(manifest, { architecture, name }) {
  const annotations = { 'org.opencontainers.image.ref.name': name, 'io.containerd.image.name': name };
  return {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [{ ...manifest, platform: { architecture, os: 'linux' }, annotations }],
  };
}

/** Returns the descriptor of a JSON document, and its text. */
export function describeJson(value, mediaType) {
  const text = JSON.stringify(value);
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
  return { descriptor: { mediaType, digest, size: Buffer.byteLength(text) }, text };
}

function addJson(directory, value, mediaType) {
  const { descriptor, text } = describeJson(value, mediaType);
  writeFileSync(join(directory, 'blobs', descriptor.digest.replace(':', '/')), text);
  return descriptor;
}

async function addLayer(directory, file) {
  const digest = await sha256(file);
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), createGunzip(), hash);
  const { size } = statSync(file);
  renameSync(file, join(directory, 'blobs/sha256', digest));
  const mediaType = 'application/vnd.oci.image.layer.v1.tar+gzip';
  return {
    diffId: `sha256:${hash.digest('hex')}`,
    descriptor: { mediaType, digest: `sha256:${digest}`, size },
  };
}

function writeJson(file, value) {
  writeFileSync(file, JSON.stringify(value));
}
