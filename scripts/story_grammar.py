"""The sentences and the plots of the story generator (`stories.py`).

`SENTENCES` holds pools: a line `= name` opens one, and each line below it is one sentence (or a few that belong
together). `[a|b|]` stands for one of the alternatives, the last here being none. `{slot}` is a word that stays the same
through a story: `{hero}`, `{thing}`, or, where a story needs two of a kind, `{thing1}`. `{thing.plural}` is a form of
it (`FORMS` in `story_words.py`), and a capital, as in `{Thing}`, capitalizes the text. `{he}`, `{him}` and `{his}` go
with the hero, `{fhe}`, `{fhim}` and `{fhis}` with the friend, `{phis}` with a person met.

`PLOTS` holds plots: a line is a paragraph, a word a sentence from the pool of that name, `word?` one that comes half of
the time. `INTERLUDES`, written alike, are for the place before a plot's last paragraph.
"""

# ruff: noqa: E501 (a sentence is one line)

SENTENCES = """
= opening
Once upon a time, [there was|there lived] {trait.a} {kind} [named|called] {hero}.
Once upon a time, there was {trait.a} {kind} [named|called] {hero}. {He} lived [by|near] {place9.a} with {his} {parent}.
Once upon a time, by {place9.a} in {town}, there lived {trait.a} {kind} named {hero}.
Once there was {trait.a} {kind} named {hero} who loved to {hobby4}.
There once was {trait.a} [little|young] {kind} whose name was {hero}.
One [day|morning|afternoon], {trait.a} {kind} named {hero} {move.past} to the {place} with {his} {parent}.
One {weather} {time}, {trait.a} {kind} named {hero} woke up [early|late|feeling very {glad}].
{Hero} was {trait.a} {kind}. {He} was {age} years old and lived in [a house by|{colour.a} house near|a small house behind] the {place9}.
{Hero} was {trait.a} and {trait1} {kind}.
In a [small|little|quiet|busy|faraway] [town|village] called {town}, there was {trait.a} {kind} named {hero}.
Long ago, in the land of {town}, there lived {trait.a} {kind} called {hero}.
A long time ago, {trait.a} {kind} named {hero} lived in a house made of {material}.

= hobby
{He} [loved|liked] to {hobby} [all day long|every day|with {his} {parent}|near the {place9}|more than anything].
{Hero} [loved|liked] to {hobby} and {hobby1}.
Every [day|morning|{time}], {he} liked to {hobby1} [before breakfast|after lunch|by the {place9}|].
{His} favorite thing to do was to {hobby}.
{Hero} [was very good at|was always|never got tired of] {hobby.ing}.
When {he} was not {hobby.ing}, {he} was {hobby1.ing}.
{Hero} had [a favorite {thing1}|a very special {thing1}|{look1.a} {thing1}]. {He} took it everywhere {he} went.
{He} had {count1} {thing1.plural}, but {his} favorite was [the {colour1} one|the {graded.est} one|the smallest one].
At school, {he} liked to [sing|paint|read|play {game1}|play the {instrument}].
{He} had read every book about {theme} in the [library|school|house].
{Hero} dreamed of [being|becoming] {person9.a} [one day|when {he} grew up].

= look
{He} had {colour2} [hair|eyes|shoes|boots|mittens] and [a big smile|{graded.a} {body1}|the {graded.est} {body1} in {town}].
{He} always wore {colour2.a} [hat|scarf|coat|shirt|sweater] that {his} {parent} had made.
Everyone said that {hero} was the {graded.est} {kind} in the [whole town|whole school|family].
{Hero} was [a bit|very|quite|a little] {trait2}, but {he} had a [good|kind|big|warm] heart.
{He} was {graded.er} than [the other|all the other] [children|animals|ones], and [sometimes|often] that made {him} {sad1}.
{Hero} was [always|often|never] {trait2}.

= family
{Hero} lived with {his} {parent} and {his} {pet}, {petname}.
{His} {parent} was {person9.a} who worked at the {place9}.
{His} {parent} used to say, "{Wow9}, {hero}, you are [so|very|really] {virtue}!"
{Hero} had a pet {pet} named {petname}. {petname} liked to {animal_move} and eat {food9}.
{Hero} had {count9} [brothers|sisters|cousins|friends], and {he} was the {graded9.est} of them all.

= one_day
One [day|morning|afternoon|evening],
One {weather} {time},
One {time} in {month},
[Then, one|But one] [day|morning|night],
On {weather.a} {time},
The next [day|morning],

= then
[Suddenly|Soon|Just then],
[After a while|A little later|At that moment],

= go_on
[Then|After that|Later], {hero} {move1.past} [on to|past|back to] the {place2}.
[On the way back|A little later], {he} stopped [at|near] the {place2} to rest and {hobby3}.
"Come with me to the {place2}!" said {stranger}, {trait1.a} {animal2}. {Hero} was {glad1} to see {stranger}.
{Hero} wanted to see the {place2} too, because {he} had heard that there were {animal2.plural} there.
The {place2} was not far away. It was full of {animal2.plural} and {plant1.plural}.

= weather
It was {weather.a} {time}, and the [sun was shining|birds were singing|wind was blowing|leaves were falling|sky was {colour3}].
The [sun|moon] was {graded2} and the air smelled like {smell}.
The [sky|water|grass] was {colour3} and the [birds|bees|crickets] sang {warm1.ly}.
Outside, it was {weather} and {weather1}.
The wind [blew {manner3.ly}|was {weather1}], but {hero} did not [mind|care].
[Everything|The whole {place}] smelled like {smell}.

= go_out
{Hero} and {his} {parent} went to the {place}.
{Hero} {move.past} to the {place} to [play|{hobby1}|look for {thing2.a}|see {his} friends].
{Hero} {move.past} [all the way to|down to|over to|through] the {place}.
{Hero} decided to go [to|on a trip to|for a walk in] the {place}.
{His} {parent} took {him} to the {place}. {He} was [so|very] {glad}.
{Hero} put on {his} {colour} [hat|coat|shoes|boots|scarf] and {move.past} to the {place}.
"Let's go to the {place}!" said {his} {parent}. {Hero} [clapped {his} hands|jumped up and down|smiled|nodded {warm.ly}].
{Hero} was {hobby.ing} [near|in|beside|behind] the {place}.

= sights
On the way, {he} saw {sight.a} and {animal1.a}.
{He} saw {count1} {animal1.plural} [by|near|next to] {sight.a}.
There [was {plant.a}|were {count1} {plant.plural}|were {plant.plural} and {plant1.plural}|was {sight.a}] [by the road|near the {sight}|next to the gate|on the hill].
{Animal1.a} {animal_does.past} {manner3.ly}.
{Animal1.a} {animal_move.past} [past|by|in front of {him}|near the {sight}].
{He} passed {sight.a}, {plant.a} and {person1.a} with {thing2.a}.
{He} counted {number} {thing2.plural} and {count1} {animal1.plural}.
{Look3.a} {animal1} looked at {him} from behind {plant.a}.
{Age1.a}-year-old [boy|girl] was playing {game} [with {person1.a}|on the grass|near the {sight}].
{Person1.a} was selling {food1} and {food2} next to the {sight}.
At the {place}, {person1.a} was [showing {thing2.a} to|talking to|waving at|playing {game} with] {animal1.a}.
A [ship|train|truck|boat|wagon] full of {thing2.plural} [went by|came from {town1}|stopped near the {sight}].
There were {thing2.plural} made of {material1}, {thing3.plural} made of {material2} and even {look3.a} {thing4}.
The {animal1.plural} were {graded3.er} than [before|usual|the {animal2.plural}].
{He} heard about {compound.a} that grew [near|in] {town1}.

= meal
They [ate|shared|had] some {food} and {food1} [for lunch|for dinner|together|under {plant.a}].
{His} {parent} [made|cooked|packed] some {food} [and {food1}|with {food1}|].
First, they ate {food}, {food1} and {food2}.
{Hero} was hungry, so {he} ate some {food}. [It was|Everything was] [yummy|so good|{taste} and {taste1}].
They had a picnic with {food}, {food1} and {compound} [juice|pie|jam|tea|soup].
"[Can I|May I] have some {food}, please?" asked {hero}.
The {food} smelled [like {smell}|so good|{taste}].

= friend_meet
{He} [met|saw] {his} friend {friend}, {ftrait.a} {fkind}.
There {he} met {ftrait.a} {fkind} [named|called] {friend}.
{His} best friend was {ftrait.a} {fkind} named {friend}.
{Hero} had a friend [named|called] {friend}. {friend} was {ftrait.a} {fkind}.
Just then, {ftrait.a} {fkind} named {friend} came [by|along|out of the {place}|from behind the {sight}].
{Hero} [called|went to see] {his} friend {friend}, who was {ftrait} and {ftrait1}.

= friend_known
{His} best friend was {ftrait.a} {fkind} named {friend}.
{Hero} had a [friend|good friend|best friend] [named|called] {friend}. {friend} was {ftrait.a} {fkind}.
{Hero} and {his} friend {friend}, {ftrait.a} {fkind}, [did everything together|liked to {hobby2}|lived next door to each other].
{Hero} [liked|loved] to {hobby2} with {his} friend {friend}, {ftrait.a} {fkind}.

= hello
"Hi, {friend}! [Do you want to play|What are you doing|How are you today|Do you want to play {game}]?" asked {hero}.
"Hello, {hero}! I'm [so glad you're here|happy to see you|going to {hobby2}]," said {friend}.
"Hello, my name is {hero}. [What's your name|Who are you|Do you live here]?" {he} asked. "I'm {friend}," said the {fkind}.
{friend} [smiled|waved|laughed] and said, "Hi, {hero}! [Let's {hobby2}|Let's play {game}|It's {graded.a} day]!"
"{Wow}! [What's that|Where did you get that {thing}|Is that {thing.a}|Where are you going]?" [asked|said] {friend}.
"Good morning, {hero}," {said} {friend}. "[Isn't it|It's] {weather.a} {time}!"

= play
They [played|ran|laughed|danced] [together|at the {place}|all day|until it was dark].
They played {game} and {game1} [at the {place}|until dinner|with the {animal}|all afternoon].
{Hero} and {friend} {hobby2.past} and {hobby3.past} [together|until the sun went down|].
They took turns with the {thing2} and [laughed|giggled|shouted] {warm.ly}.
First they played {game}. Then they {hobby3.past}.
They built {look5.a} [tower|house|fort|castle|boat] out of {material} and {material1}.
{Sound}! {Sound1}! [The {thing3} went up and down|They banged on the {thing3}|They played the {instrument} and the {instrument1}].

= together
"[Let's|We can|Why don't we] [try|do it|do that|look] together," said {friend}.
{friend} [wanted to help|said {fhe} would help|had an idea|was not sure].
"[Don't worry|It's okay|Don't be {sad}], {hero}. I'll help you," [said|whispered] {friend}.
"I [can't|don't want to|won't] do it alone," said {hero}. "[Will|Can] you help me?"
"That's a [great|good|wonderful|silly|clever] idea!" said {friend}.
They held hands and [smiled|nodded|counted to {count2}].
"We're a [great|good] team!" {said} {friend}.

= thanks
"Thank you[ so much| very much|], {friend}!" said {hero}. "You're [a good friend|so {virtue}|the best]."
"Thanks[ for your help| for helping me|], {friend}," said {hero}, and {he} gave {fhim} a [big|warm] hug.
{Hero} said thank you and gave {friend} some {food1}.
{Hero} was so {glad} that {he} hugged {friend} [tightly|{warm1.ly}|twice].
"You're welcome," {said} {friend}. "That's what friends are for."

= ask_parent
{Hero} [ran|went|hurried] to {his} {parent} and asked, "[Can you help me|What should I do|Do you know why|Can you tell me about {theme}], please?"
{His} {parent} [smiled|nodded|laughed|thought for a moment] and said, "[Of course|Let's see|I think you can do it|You're so {virtue}], {hero}."
"[Be careful|Don't go too far|Come back before dinner|Remember to be {virtue}]," said {his} {parent}.
{His} {parent} looked at {him} {warm.ly} and said, "It's [okay|all right|good] to be {sad}, {hero}."
"I know [you can do it|you didn't mean to|what to do|{person1.a} who can help]," said {his} {parent}.

= aside
It was [the {look4}|{look4.a}] {thing2} [from {town1}|that belonged to {person1.a}|as {graded} as {animal1.a}|made of {material}].
Nobody knew [why this was so|how it had happened|what to do|where the {animal2} came from].
It was {graded.er} than {animal1.a} and {graded1.er} than {animal2.a}.
The clock on the wall said it was {clock}.
[Suddenly|Just then], there was a loud {noise}. "{Sound}!" went the {thing2}.
"{Longsound}!" {said} {hero}.
"{Longsound}," {said} the {animal1}. "{Sound}, {sound1}!"
{His} {body} [hurt|felt cold|itched|was covered in {food2}], but {he} did not [stop|cry|mind].
{Hero} [thought|wondered] about it for {number} [minutes|seconds|hours|days].
It cost {number} [coins|cents|dollars], but {hero} only had {count2}.
There were {number} [steps|stones|people|stars|{thing2.plural}] in all.
{He} felt [a little|very|so] {sad} [at first|inside|and {sad1}].
In {container.a} nearby, there were {count1} {look4} {thing2.plural}.
{Person1.a} named {stranger} [came by|waved|laughed {warm.ly}|was watching them].
Even {stranger}, the {graded.est} {person1} in {town1}, [smiled|was {glad1}|came to look|clapped].
The {thing2} looked like {compound.a}[, only {graded.er}|].
It had {count1} {colour3} [spots|stripes|dots|legs|buttons] and {graded.a} {body}.
They saw {compound.a} next to {compound1.a}. What a [funny|silly|strange] sight!
"Have you ever seen {compound.a}?" asked {hero}. "No, but I once saw {compound1.a}," {said} {stranger}.

= feel
{Hero} felt [so|very|really] {glad}.
{Hero} was [so|very] {glad} and {glad1}.
{Hero} [smiled|laughed|giggled|danced|cheered] {warm.ly}.
It made {him} feel {glad1} inside.
{His} heart [beat fast|felt warm|jumped with joy].

= feel_sad
{Hero} was {sad}, but {he} [tried to be {virtue}|did not give up|took a deep breath|wanted to try again].
{Hero} felt [so|very|really] {sad}.
"I'm so {sad}," {hero} [said {manner.ly}|thought|told {friend}].
{He} felt {sad} and {sad1} inside.

= night
That night, {hero} [lay in bed|looked at the moon|hugged {his} {thing1}] and thought about the {place}.
When the moon came out, {hero} [was fast asleep|said good night to the {animal}|closed {his} eyes and dreamed of {theme}].
{He} dreamed about {theme} and {look4} {thing2.plural}.
Before bed, {his} {parent} read {him} a story about {theme}.
"Good night, {hero}," {said} {his} {parent}. "[Sweet dreams|Sleep tight|I'm proud of you]."

= home
[Then|After that|At the end of the day|When the sun went down], {hero} {move.past} home.
{Hero} and {friend} {move.past} home, [tired but {glad}|{warm.ly} singing a song|hand in hand].
It was getting late, so they [went home|said goodbye|put away the {thing2.plural}].
When {he} got home, {he} told {his} {parent} [everything|all about it|about the {thing}|about {friend}].

= ending
From that day on, {hero} [always tried to|never forgot to|wanted to] [be {virtue}|be {virtue} and {virtue1}|help other {animal.plural} and {animal1.plural}|share {his} {thing.plural}].
From that day on, {hero} [listened to {his} {parent}|took good care of {his} {thing}|told the truth|said "please" and "thank you"].
From then on, {hero} and {friend} [were best friends|{hobby2.past} together every day|went to the {place} every {time}].
And they [all|] lived happily ever after.
{Hero} [knew|learned] that {he} could always count on {friend}.
{Hero} never forgot [that day|{friend}|the {thing}|what happened that {time}].
{Hero} was [so|very] {glad}, and {friend} was {glad} too.
And so, {hero} went to sleep with a smile.
The end.

= moral
The moral of the story is [that it is good|to try|always] to be {virtue}.
The moral of this story is: always be {virtue}, even when you are {sad}.
{Hero} learned that it is important to be {virtue} and {virtue1}.
{Hero} learned that {value} is [more important than|better than|worth more than] {look.a} {thing}.
They learned that {value} and {value1} [make everything better|can make anyone feel {glad}|are the best gifts of all].
The lesson is that {value} is [the best gift|stronger than fear|never too late].
Remember: if you are {virtue}, [good things will happen|you will never be alone|others will be {virtue} to you]!
So, children, [always be|don't forget to be] {virtue} and {virtue1}!

= lost
{hero} could not find {his} {look} {thing}.
{hero} lost {his} [favorite|{look}] {thing} at the {place}.
{hero} looked for {his} {thing}, but it was gone.
{hero} saw that {his} {look} {thing} was missing.

= lost_sad
{He} looked in the {container} and under the {thing2}, but it was not there.
"Where is my {thing}?" {he} [cried|asked|wondered]. {He} was very {sad}.
{He} had [got|found] it from {his} {parent}, and {he} [loved it so much|played with it every day].
{He} searched [high and low|everywhere|at the {place}], but {he} only found {thing2.a} and {thing3.a}.
{He} began to cry. "I want my {look} {thing} back!"

= lost_ask
{He} asked {friend}, "Have you seen my {thing}?"
"What's wrong, {hero}?" asked {friend}. "I lost my {thing}," said {hero} {manner.ly}.
"Why are you so {sad}?" {friend} asked. "I can't find my {thing}," {hero} said.

= search
They looked [behind the {plant}|under the {sight}|inside {container.a}|near the {sight}], but they only found {thing3.a}.
They asked {person.a}, {person1.a} and even {animal.a}, but nobody had seen it.
"Maybe it's [in the {container}|at the {place1}|under the {plant}]," said {friend}.
They followed the {colour} [footprints|feathers|crumbs|string] to the {place1}.
They searched for {number} minutes.
{Person.a} helped them look. "I saw {animal.a} with {colour.a} {thing}," {said} the {person}.

= found
At last, {friend} [looked|peeked] [under|behind] the {plant}. "{Wow}! I found [it|your {thing}]!" {fhe} shouted.
Suddenly, {hero} saw something {graded} [in the grass|near the {sight}|behind the {plant}]. It was {his} {thing}!
{Animal.a} was sleeping on it! The {animal} [was sorry|yawned|ran away], and {hero} took {his} {thing} back.
The {thing} was in the {container} all along. They laughed and laughed.

= share_start
{hero} was playing with {his} {look} {thing} at the {place}.
{hero} brought {his} {look} {thing} to the {place}.
{hero} found {look.a} {thing} [near the {sight}|under {plant.a}|at the {place}].
{hero} got {look.a} {thing} from {his} {parent}.

= share_want
{friend} saw the {thing}. "[Can I|May I] play with it, please?" {fhe} asked.
"I want to play with the {thing} too," said {friend}. "Can we share?"
{friend} wanted the {thing} [too|very much|so badly that {fhe} grabbed it].
"It's my turn!" {said} {friend} and pulled at the {thing}.

= share_no
"No! It's mine!" {said} {hero}, and {he} held the {thing} {cross.ly}.
"I don't want to share," said {hero}. {friend} was {sad} and [sat down near the {plant}|walked away|began to cry].
{Hero} shook {his} head and {move.past} away. {friend} felt {sad}.
They pulled and pulled. {Sound}! The {thing} [fell|broke|flew into the {sight}].

= share_learn
{Hero} saw that {friend} was {sad1}. {He} felt [bad|sorry|{sad2}] too.
Playing alone was [not|no] fun. {Hero} thought about what {his} {parent} said about {value}.
"I'm sorry, {friend}," {hero} said. "We can play with the {thing} together."
"Here, you can have a turn," said {hero}. "{Wow}! Thank you!" {said} {friend}.

= wish_find
{hero} found {look.a} {thing} [that talked|that glowed in the dark|full of {colour} light] [at the {place}|under {plant.a}|behind the {sight}].
{hero} met {stranger}, a magic {magic}, [at the {place}|near the {sight}|under {plant.a}].
{hero} rubbed {look.a} {thing}. {Sound}! Out came a magic {magic} named {stranger}.

= wish_offer
"{Wow}! I am {stranger}, the magic {magic}. I can give you {count} wishes," {said} the {magic}.
"Do not be {sad}," said {stranger}. "Because you are so {virtue}, you can make a wish."
The {magic} said, "I'm {stranger} from {town1}. What do you wish for?"

= wish_made
"I wish for [some {colour}|the {graded.est}|a hundred|{number}] {compound.plural}!" said {hero}.
"I wish I had {look1.a} {thing2}," said {hero}. {Sound}! There it was.
"I wish I could {hobby3} like {animal.a}," {hero} said {manner.ly}.
{Hero} wished for {food}, {food1} and {number} {thing2.plural}.

= wish_wrong
But the {place} was so full of {compound.plural} that nobody could [move|walk|play|sleep].
But soon {hero} was {sad}. {He} had everything, but no one to play with.
But the {thing2} grew and grew, until it was {graded.er} than the {place1}.
{friend} came and said, "{Wow}! What happened here? This is too much!"

= wish_undone
"I don't need it," {hero} told {stranger}. "I wish everything was like before." And {sound}, it was.
"My last wish is for {friend} to be {glad}," said {hero}. The {magic} smiled.
{Stranger} laughed. "You are {graded.er} than most," {said} the {magic}, and was gone.

= fear_what
{hero} heard a strange {noise} [from the {place1}|in the {container}|behind the {sight}|under {his} bed].
{hero} had to [go through the dark {place1}|climb the {graded.est} {plant}|cross the {graded} {sight}], but {he} was {sad}.
{hero} was afraid of [the dark|{animal.plural}|loud sounds|the {place1}|deep water].

= fear_feel
{His} {body} shook and {his} heart went {sound}, {sound}, {sound}.
"I'm {sad}!" {he} [whispered|cried]. "What if it's {magic.a}?"
{He} hid behind the {sight} and {handle.past} {his} {thing1} {manner.ly}.
{He} wanted to run away, but {his} legs would not move.

= fear_brave
But {hero} took a deep breath and counted to {count1}. "I can be {virtue}," {he} said.
Slowly, {he} {move.past} closer and {handle.past} the {thing2}.
{friend} held {his} hand. "On three, we go. One, two, three!"
{Hero} took {look1.a} {thing2} and {move1.past} into the dark.

= fear_small
It was only {look1.a} {animal}! The {animal} was {sad1} too.
There, in the corner, was {look1.a} {thing3}. [The wind made it go "{sound1}"|It was not scary at all].
{Hero} laughed. It was only {friend} with {thing3.a} on {fhis} head!
It was a baby {animal} that had lost its mother.

= break
{hero} was playing {game} in the house. {Sound}! {He} broke {his} {parent}'s {look} {thing}.
{hero} {handle.past} the {look} {thing}, even though {his} {parent} told {him} not to. {Sound}! It fell and broke.
{hero} and {friend} were {hobby1.ing} when the {thing} [fell|broke into {count1} pieces].

= break_hide
{He} was {sad} and hid the pieces in {container.a}.
"If I say nothing, nobody will know," {he} thought. But {his} {body} felt funny.
"It was the {animal}!" {said} {hero} {cross.ly}, but it was not true.
{friend} said, "You should tell {fhis} {parent1} the truth. It's better to be {virtue}."

= break_tell
At last {hero} said, "I'm sorry. I broke your {thing}. I {handle.past} it and it fell."
{Hero} began to cry. "I broke it," {he} said {manner1.ly}. "Please don't be {sad2}."
{Hero} told {his} {parent} the truth, and {his} {parent} listened {warm.ly}.

= break_forgive
{His} {parent} hugged {him}. "Thank you for being {virtue}," said {his} {parent}. "We can fix it."
"Everyone makes mistakes," said {his} {parent}. "Let's mend it with [glue|tape|string|{material}]."
Together they fixed the {thing} with {material} and {material1}. It was {graded.er} than before!

= seed
{hero} found {look.a} seed in {container.a}. "I will plant it," {he} said.
{hero}'s {parent} gave {him} {count} {colour} seeds. They came from {town1}.
{hero} traded {his} {thing} for {look.a} seed from {person.a} named {stranger}.

= seed_care
Every {time}, {hero} watered it and sang a song about {theme}.
{He} dug a hole near the {sight}, put the seed in and covered it {manner.ly}.
{He} waited and waited. After {number} days, nothing had happened, and {hero} was {sad}.
"You have to be {virtue}," said {friend}. "{Plant.plural} need time, water and sun."

= seed_grow
Then one {time}, there was a tiny {colour1} leaf! "{Wow}! {Wow1}!" {said} {hero}.
The plant grew {graded.er} and {graded.er}, until it was {graded1.er} than the {place1}.
It was {plant.a} with {number} {colour1} flowers that smelled like {smell}.
It was not {plant.a} at all. It was {compound.a} tree, and it was full of {compound.plural}!

= seed_give
{Hero} gave {count1} of them to {friend}, and one to {person1.a}.
All the {animal.plural} and {animal1.plural} of {town1} came to see it.
They picked the {food} and made {food1} for everyone.

= race
there was a big race in {town1}. The prize was {look.a} {thing}.
{hero} saw a sign: "RACE TODAY! Prize: {look.a} {thing}."
the {person} of {town1} said, "Whoever is the [fastest|quickest|first] will win {look.a} {thing}!"

= race_boast
"I'm the [fastest|quickest|strongest|best] of all," {said} {friend} {cross.ly}. "You can't win!"
{Stranger} the {animal} laughed at {hero}. "You are too [slow|small|short|shy|young|{graded1}]!" {said} the {animal}.
{Hero} practiced every {time}. {He} {move.past} up the hill {number} times.

= race_run
"Ready, set, go!" shouted the {person}. {Sound}! They were off.
{Hero} {move.past} past the {sight}, over the {sight1} and around the {plant}.
{friend} stopped to eat some {food}, but {hero} did not stop.
{Stranger} fell over {thing2.a}. {Hero} stopped and helped {stranger} up.

= race_end
{Hero} won the race by {count} {measure}! Everyone [cheered|clapped|shouted {hero}'s name].
{Hero} came in number {number}, but {he} was {glad} because {he} had tried {his} best.
{Hero} and {friend} crossed the line together and shared the {thing}.
The {person} gave {hero} the {look} {thing} for being so {virtue}.

= hurt
{hero} saw {look1.a} {animal} [stuck in the {sight}|with a hurt {body}|crying near the {sight}|lost at the {place}].
{hero} heard a tiny voice. "[Help|Please help me|{longsound}]!" It was {look1.a} {animal}, [stuck under {thing.a}|caught in the {plant}].
{person.a} named {stranger} was {sad} because {phis} {thing} was stuck in {plant.a}.

= help_how
{Hero} tried to [lift|pull|push] it, but it was too {graded}.
"Don't be {sad}," said {hero}. "I'll get {thing.a} and {thing2.a}."
{Hero} {handle.past} the {thing} {manner.ly} and {handle1.past} it once more.
{He} used {thing2.a} and a [long|strong] rope made of {material}.
{friend} {handle.past} the {thing} while {hero} {handle1.past} the {thing2}.
{He} gave the {animal} some {food} and water from {container.a}.

= helped
{Sound}! At last, it worked. The {animal} was free and {animal_move.past} {manner1.ly}.
The {animal} felt {graded.er} soon and [licked|kissed] {hero}'s {body}.
Everyone in {town1} heard [how {virtue} {hero} had been|about it].

= bake
{hero} and {his} {parent} wanted to make {food} for {stranger}.
{hero} wanted to bake {compound.a} cake for {friend}'s birthday.
it was cooking day in {town1}, and {hero} wanted to make the {graded.est} {food} of all.

= bake_how
They mixed {food1}, {food2} and {number} [spoons|cups|drops] of {compound} [sugar|jam|oil|milk].
{Hero} {handle.past} the bowl and stirred {manner.ly} with {thing2.a}.
"Don't forget the {food2}!" said {his} {parent}.
{friend} {handle1.past} the {food1} and put it in {container.a}.
"{Wow}! There's {food1} on your {body}!" {said} {friend}. They laughed.

= bake_trouble
But the oven was too hot. {Sound}! There was {colour} smoke everywhere.
Then {hero} added {food3} instead of {food1}. It tasted {taste} and {taste1}!
Then {animal.a} {animal_move.past} in and ate [half|all|most] of it.
The dough grew {graded.er} and {graded.er}, until it filled the [kitchen|room|{place1}].

= bake_end
They tried again, and this time it was [perfect|yummy|{taste}].
Everyone had a piece, and {person.a} asked for {count1} more.
{friend} took a bite. "{Longsound}! It's the {graded.est} {food} ever!"

= storm
the sky turned {colour1} and a big storm came to {town1}.
it began to rain. {Sound}! The thunder was very loud.
the wind [blew|roared] so hard that it took {hero}'s {thing} away.
the snow fell for {count1} days, and {town1} was as quiet as {animal.a}.

= storm_hide
{Hero} and {friend} {move.past} to {place1.a} and hid [under {thing2.a}|behind the {thing2}|in {container.a}].
They lit {thing2.a} and told stories about {theme}.
{Animal.a}, {animal1.a} and {animal2.a} were there too. They were all {sad} and wet.
They drank hot {food} and wrapped themselves in {look1.a} blanket.
"{Longsound}!" went the wind. "I'm {sad}," whispered {friend}.

= storm_over
Then the rain stopped, and there was a rainbow over the {place}.
In the morning, everything was {colour3} and {look4}.
After {count1} hours, the sun came out. The {plant.plural} were {graded.er} than ever.

= map
{hero} found {look.a} map in {container.a}. It had {colour.a} X on it.
{hero} got a letter from {stranger}, the {person}: "Look for the {thing} of {town1}!"
{hero} found a bottle with {look.a} note: "Walk {number} steps to the {place1}."

= map_go
They {move.past} {number} steps to the {sight} and {count1} steps to the {plant}.
They crossed the {place} and the {place1}, and {move1.past} past {town2}.
They met {person1.a} who asked a riddle: "What is {graded.er} than {animal.a} but {graded1.er} than {animal1.a}?"
{friend} read the map {manner1.ly}. "We have to turn left at the {sight}," {fhe} said.
"Look, here is the X!" {said} {friend}. They dug with {thing2.a} and {thing3.a}.

= map_find
There was {container.a} full of {thing.plural}, {thing4.plural} and {food1}!
Inside was {look1.a} {thing} and a note from {stranger}. "The real treasure is {value}," it said.
They opened the {container}. {Sound}! Out came {animal2.a} with {thing4.a}.
It was not gold. It was {look4.a} book about {theme}, and {hero} loved it.

= newcomer
a new {fkind} came to [school|the {place}|{town1}]. {Fhis} name was {friend}.
{hero} saw {ftrait.a} {fkind} sitting alone [near the {sight}|under {plant.a}|at the {place}].
a family from {town2} moved in next door. They had {ftrait.a} {fkind} named {friend}.

= new_shy
{friend} was {sad} because {fhe} did not know anyone.
{friend} spoke {manner1.ly} and always carried {look1.a} {thing}.
The other {animal.plural} laughed at {friend} because {fhe} had {graded.a} {body}.
"In {town2}, we eat {food} with {food1} and play {game1}," {said} {friend}.

= new_ask
{Hero} {move.past} over and said, "Hi, I'm {hero}. Do you like {game}?"
"Do you want to see my {thing2}?" asked {hero} {manner.ly}.
{Hero} gave {friend} some {food}. "My {parent} made it," {he} said.

= learn_want
{hero} saw {person.a} {hobby3.ing} at the {place}. "I want to do that too!" {he} said.
{hero} wanted to learn [to play the {instrument}|how to {hobby3}|how to make {thing.a}|to ride {animal.a}].
{hero} saw {look.a} {instrument} in the window of the {place1}.

= learn_fail
{He} tried, but {he} [fell down|made a mistake|dropped the {thing}]. {Sound}! "I can't do it," {he} {said}.
The {animal.plural} covered their ears. "That sounds like {animal1.a} in {container.a}!" they said.
{He} tried {number} times, and every time it went wrong.
{friend} [laughed {cross.ly}|said it was too hard], and {hero} felt {sad}.

= learn_try
"You have to practice," said {person.a} named {stranger}. "Try it {manner.ly}."
Every {time}, {hero} practiced a little more. {He} got better and better.
{stranger} showed {him} how. "First {manner.ly}, then {manner1.ly}," {hero} sang.
"I'll try again," said {hero}. "I'm not {sad} anymore."

= learn_done
And then, one day, {he} could do it! Everyone [cheered|clapped|danced {warm.ly}].
There was a show at the {place1}, and {hero} was the {graded.est} of all.
"{Wow}! You did it!" {said} {friend}. "{Wow1}!"

= birthday
it was {hero}'s birthday. {He} was {age} years old.
it was {friend}'s birthday, and {hero} wanted to give {fhim} {look.a} {thing}.
everyone in {town1} was getting ready for the big party on {month} {day}.

= birthday_how
{Hero} made a card with {colour} paper, {material} and {thing2.plural}.
There were {number} balloons, {count1} cakes and {look4} music.
They invited {stranger}, {friend}, the {person} and {number} {animal.plural}.
They hung {colour} and {colour1} ribbons all over the {place}.

= gift
"Happy birthday!" they all [shouted|sang|cheered]. {Sound}!
{Hero} opened the box. It was {look.a} {thing}! "{Wow}! It's just what I wanted!"
The best gift was from {friend}: {look1.a} {thing4} made of {material}.
Inside the {colour} paper there was {container.a}, and inside that there was {look.a} {thing}.

= greedy
{hero} had {number} {thing.plural}, but {he} wanted more.
{hero} took all the {food} and did not leave any for {friend}.
{hero} told everyone that {he} was the {graded.est} {kind} in {town1}.

= greedy_warn
"You should [share|be {virtue}|stop]," {said} {friend}. But {hero} did not listen.
"Too much {food} will make your {body} hurt," {his} {parent} warned.
{Person.a} named {stranger} shook {phis} head. "That is not {virtue}," {said} the {person}.

= greedy_fall
{Sound}! The {container} broke, and all the {thing.plural} [rolled away|fell into the {sight}].
Soon {his} {body} hurt, and {he} had to stay in bed for {count1} days.
Then {animal.a} came and took everything. {Hero} was left with nothing but {thing3.a}.
No one wanted to play {game} with {hero} anymore. {He} was {sad}.
"""

PLOTS = """
opening hobby look?
one_day lost lost_sad lost_sad?
friend_meet lost_ask together?
search sights? search aside?
found thanks feel?
home? ending moral?

opening hobby? family?
one_day share_start weather? aside?
friend_meet hello?
share_want share_no
ask_parent? share_learn share_learn?
play ending moral

opening friend_known look? hobby?
one_day wish_find aside
wish_offer wish_made
wish_wrong feel_sad?
wish_undone
night? ending moral?

opening hobby friend_known family?
one_day fear_what weather?
fear_feel fear_feel?
together? fear_brave
fear_small aside?
feel night? ending moral?

opening friend_known family?
one_day break
break_hide aside? break_hide?
ask_parent?
break_tell break_forgive
feel ending? moral

opening hobby
one_day seed friend_meet
seed_care seed_care weather?
seed_grow aside?
seed_give meal?
ending moral?

opening look
one_day race friend_meet
race_boast race_boast?
race_run sights? race_run
race_end feel
home? ending moral?

opening friend_known hobby?
go_out sights sights?
then hurt
help_how help_how?
helped feel?
thanks? home ending moral

opening friend_known family?
one_day bake
bake_how bake_how aside?
bake_trouble together?
bake_end meal?
ending moral?

opening weather? hobby?
go_out friend_meet sights?
then storm
storm_hide storm_hide aside?
storm_over play?
home ending

opening hobby look?
one_day map friend_meet
together? map_go sights? map_go
meal? map_go?
map_find aside?
thanks? home ending moral?

opening family? hobby
one_day newcomer
new_shy new_shy?
new_ask
play meal? play?
ending moral?

opening friend_known look?
one_day learn_want ask_parent
learn_fail feel_sad? learn_fail?
learn_try learn_try
learn_done
ending moral

opening friend_known hobby?
one_day birthday
birthday_how birthday_how? aside?
gift meal
play? gift?
night? ending

opening friend_known look?
one_day greedy
greedy_warn aside?
greedy_fall feel_sad?
share_learn? ask_parent
ending moral

opening weather hobby?
go_out sights
friend_meet hello
play meal? play?
sights? aside
home night? ending?

opening friend_known
one_day lost ask_parent?
search found
ending

opening hobby
go_out sights aside? sights?
friend_meet play
home ending
"""

INTERLUDES = """
go_on sights
aside weather?

sights aside sights?
feel?

meal aside
ask_parent

go_on aside?
meal feel? aside

ask_parent aside
weather? go_on? sights

aside sights
go_on aside? meal?

feel aside
"""
