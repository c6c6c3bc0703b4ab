import type { Artifact, StoredArtifacts } from '../model/artifact.ts';
import type { StoredContent } from '../storage/content.ts';

export interface StoredOutput {
  output?: StoredContent;
  artifacts?: StoredArtifacts;
}

export const listOutputContents = ({ output, artifacts }: StoredOutput): (StoredContent | undefined)[] =>
  artifacts ? [output, artifacts.content, ...(artifacts.large ?? []).map(({ content }) => content)] : [output];

/** Fields beside the common ones. */
export const pickExtraFields = ({
  name: _name,
  type: _type,
  content: _content,
  encoding: _encoding,
  ...further
}: Artifact) => further;
