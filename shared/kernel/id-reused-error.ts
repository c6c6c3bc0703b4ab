import { ParleyError } from './errors.ts';

export const idReusedError = ({
  messageId,
  givenId = messageId,
}: {
  messageId: string;
  givenId?: string | undefined;
}): ParleyError =>
  new ParleyError(
    'id_reused',
    `An earlier message with the id ${givenId} had other content. Repeat a message unchanged; give a new one a new id.`,
  );
