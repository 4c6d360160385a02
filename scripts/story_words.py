"""The words of the story generator (`stories.py`).

Each list is one string, its words in order of how often children's stories use them: the generator draws them
Zipf-like, the first most often. An underscore inside a word stands for a space.
"""

GIRL_NAMES = """
Lily Lucy Mia Sara Anna Emma Sue Amy Jane Ella Molly Daisy Rosie Sophie Jill Mary Kate Nina Grace Ruby Zoe Bella
Maya Alice Clara Emily Olivia Ava Chloe Hannah Julia Rose Ivy Poppy Holly Penny Betty Susie Katie Annie Ellie Abby
Maggie Polly Dolly Kitty Lola Nora Laura Leah Eva Isla Ida Iris Hazel Violet Jasmine Lena Tina Tara Tessa Rita Gina
Wendy Mandy Sandy Cindy Nancy Peggy Becky Vicky Jenny Sally Milly Tilly Nelly Bonnie Josie Elsie Dora Flora Cora
Carla Paula Diana Helen Ellen Irene Joan June Joyce Ruth Esther Martha Judith Naomi Rachel Rebecca Sarah Miriam
Charlotte Amelia Isabella Evelyn Abigail Harper Scarlett Victoria Madison Eleanor Penelope Layla Stella Aurora
Savannah Audrey Brooklyn Claire Skylar Paisley Everly Caroline Genesis Kennedy Samantha Willow Sadie Autumn Piper
Quinn Serenity Gabriella Madeline Adeline Valentina Delilah Josephine Natalie Lydia Jade Rylee Brielle Margaret
Alexandra Ariana Athena Beatrice Bridget Camille Catherine Celeste Daphne Edith Eloise Estelle Fatima Fiona Frances
Freya Georgia Gloria Greta Gwen Harriet Heidi Henrietta Imogen Ingrid Jemima Juliet Keiko Leila Lottie Louisa Mabel
Matilda Meera Mei Miranda Nadia Odette Olga Ophelia Pearl Phoebe Pippa Priya Rhoda Rosalind Roxanne Sabrina Saskia
Selma Sienna Sonia Sylvia Tabitha Thea Ursula Vera Winifred Xenia Yara Yasmin Yuki Zara Zelda Chloé Zoë Renée
"""
BOY_NAMES = """
Tim Tom Ben Max Sam Jack Timmy Bob John Billy Tommy Joe Mark Jimmy Jake Leo Bobby Fred Peter Johnny Dan Danny Alex
Mike Charlie Henry Oliver George Harry Oscar Toby Freddie Andy Eddie Teddy Willy Nick Ned Ted Rob Ron Roy Ray Jim
Ken Kevin Kyle Luke Adam Noah Liam Ethan Lucas Mason Logan James Daniel David Joseph Samuel Owen Wyatt Gabriel
Julian Matthew Jackson Levi Isaac Dylan Caleb Ryan Nathan Hunter Aaron Isaiah Eli Jonathan Connor Jeremiah Ezra
Colton Robert Simon Dominic Jace Cooper Carter Theo Felix Hugo Archie Arthur Albert Alfie Barney Bruno Calvin Carlos
Cedric Chester Clive Colin Craig Cyril Dexter Diego Dirk Duncan Edgar Edmund Edward Elliot Emil Ernest Eric Evan
Finn Floyd Francis Frank Gary Gavin Gerald Gilbert Glen Gordon Graham Grant Greg Gus Hamish Harold Hector Herbert
Howard Hubert Ian Igor Ivan Jamal Jasper Jerome Jerry Jonah Juan Kofi Kurt Lars Lenny Leon Leonard Lewis Linus Lloyd
Louie Magnus Malcolm Manuel Marcel Marco Mario Marvin Maurice Melvin Mickey Milo Mohammed Monty Morris Muhammad Neil
Nigel Norman Omar Orson Otis Otto Pablo Patrick Paul Pedro Percy Philip Pierre Quentin Rafael Ralph Raj Ravi Reggie
Rex Richard Ricky Roger Roland Rory Rufus Rupert Russell Salim Sanjay Scott Sean Sebastian Seth Sidney Spencer
Stanley Stefan Steve Stuart Sven Tariq Terry Tobias Tony Travis Trevor Victor Vincent Wally Walter Warren Wilbur
Winston Xavier Yusuf Zachary Zack Ziggy José André Søren Noël
"""
PET_NAMES = """
Fluffy Spot Buddy Max Whiskers Benny Coco Lucky Rex Patches Ginger Pip Bubbles Snowy Shadow Fuzzy Biscuit Cookie
Peanut Muffin Pepper Rusty Sparky Smokey Pickles Noodle Waffles Pebbles Marshmallow Button Mittens Socks Boots Tiger
Hoppy Squeaky Chirpy Nibbles Pudding Truffle Nutmeg Cinnamon Hazelnut Clover Bramble Thistle Acorn Twiggy Bumble
Buzzy Dash Zippy Bouncy Wiggles Waddles Scooter Ziggy Doodle Pumpkin Dumpling Toffee Fudge Caramel Custard Sprout
Twinkle Glimmer Flash Rocket Comet Stardust Moonbeam Sunny Cloudy Misty Stormy Flicker Ember Ash Slinky Snuggles
Cuddles Tickles Giggles Grumpy Humphrey Snout Stripes Speckles Freckles Dotty Curly Frizzy Tufty Hooty Quackers
Oinky Ribbit Snapper Flipper Splash Ripple Coral Pearl Finley Sandy Shelly Crabby Hermy Sheldon Turbo Pokey Squiggle
Inchy
"""
ANIMALS = """
dog cat bird rabbit bear fish frog mouse duck fox squirrel bunny puppy lion kitten monkey owl horse pig cow elephant
turtle tiger butterfly bee sheep chicken goat dragon wolf whale dolphin penguin giraffe zebra deer hen rooster goose
snake spider ant ladybug caterpillar snail worm crab dinosaur donkey lamb pony chick duckling hedgehog raccoon
beaver otter skunk badger mole bat hamster parrot swan crow robin sparrow pigeon eagle hawk peacock flamingo ostrich
pelican seal shark octopus starfish jellyfish seahorse lobster walrus crocodile alligator lizard chameleon toad
tadpole newt hippo rhino camel llama kangaroo koala panda gorilla chimpanzee cheetah leopard jaguar panther hyena
moose reindeer elk buffalo bison ox yak mule bull calf foal piglet gosling cub fawn kid hare guinea_pig gerbil rat
weasel ferret mink chipmunk porcupine opossum armadillo anteater sloth lemur meerkat mongoose platypus wombat
wallaby tapir aardvark warthog boar stag antelope gazelle gnu impala oryx ibex alpaca vicuna lynx bobcat puma cougar
ocelot jackal coyote dingo turkey pheasant quail partridge grouse dove cuckoo woodpecker kingfisher heron stork
crane ibis egret seagull albatross puffin cormorant gull tern magpie raven jay starling thrush blackbird bluebird
finch canary wren nightingale swallow swift lark oriole cardinal hummingbird toucan cockatoo macaw emu kiwi vulture
falcon kestrel osprey dragonfly grasshopper cricket beetle firefly moth mosquito wasp hornet bumblebee centipede
millipede mantis termite earthworm slug clam oyster shrimp prawn squid cuttlefish stingray eel trout salmon tuna
herring cod carp goldfish catfish perch pike swordfish minnow sardine unicorn mermaid fairy elf gnome giant troll
goblin pixie phoenix griffin
"""
THINGS = """
ball toy book box hat doll car flower cake stick stone boat kite bag teddy_bear blanket rock balloon bike leaf ring
key coat shoe bone drum bell cup basket rope bucket apple cookie crown picture puzzle truck train ribbon necklace
shell scarf lamp mirror vase bowl spoon pencil crayon paintbrush feather button map pillow jar bottle umbrella
mitten glove sock boot shirt dress skirt jacket belt bow cape mask costume wagon scooter sled swing slide ladder
hammer saw nail shovel rake broom mop brush comb towel sponge candle lantern torch flashlight clock watch whistle
trumpet guitar piano violin flute harp tambourine banjo accordion xylophone triangle harmonica puppet robot rocket
airplane helicopter yo-yo top marble block dice card domino jigsaw kazoo rattle bubble_wand hoop jump_rope frisbee
baseball bat football basketball racket skateboard helmet backpack suitcase purse wallet coin penny dollar ticket
stamp letter envelope postcard poster painting photo notebook diary journal magazine newspaper dictionary storybook
sketchbook calendar eraser ruler marker pen chalkboard easel stapler magnet compass telescope microscope
magnifying_glass camera radio telephone computer television keyboard lightbulb battery wire spring gear wheel engine
hook chain lock padlock treasure_chest trunk drawer shelf chair stool table desk bench sofa couch bed crib cradle
hammock rug carpet curtain pot pan kettle teapot mug plate saucer fork knife ladle whisk rolling_pin tray jug
pitcher thermos lunchbox napkin apron tablecloth straw cork barrel crate carton packet parcel present gift wreath
garland lollipop cupcake donut pie muffin pancake sandwich pretzel biscuit waffle egg carrot pumpkin pinecone acorn
nut seed twig branch log pebble crystal diamond pearl ruby emerald gem jewel bracelet brooch earring locket medal
trophy badge flag banner tent sleeping_bag canoe kayak raft paddle oar sail anchor net fishing_rod snorkel surfboard
snowball snowman snowflake icicle ski skate ice_skate toboggan thimble needle spool pin zipper pocket patch quilt
pajama slipper sandal sweater vest cardigan raincoat bathrobe bonnet beret headband hair_clip wig bead charm sticker
bookmark scroll quill inkwell globe hourglass sundial thermometer scale abacus music_box snow_globe jack-in-the-box
rocking_horse dollhouse toy_soldier sandcastle spade trowel watering_can wheelbarrow flowerpot birdhouse bird_feeder
beehive cobweb nest burrow doghouse leash collar saddle horseshoe bridle cage fishbowl aquarium seashell clothes_peg
mailbox doorbell doorknob window_box weathervane windmill pinwheel parachute glider trampoline seesaw stroller
tricycle unicycle motorcycle tractor bulldozer crane ambulance taxi trolley locomotive caboose submarine tugboat
sailboat yacht wand cauldron potion spellbook broomstick cloak sword shield arrow spear castle throne scepter goblet
chalice
"""
PLACES = """
park forest garden beach house school store lake river pond farm zoo library castle market playground woods village
mountain hill field meadow town barn kitchen yard backyard sea city museum bakery cave tree_house island valley
jungle desert swamp stream waterfall bridge road path train_station bus_stop airport harbor dock pier lighthouse
tower palace temple church hospital fire_station police_station post_office bank hotel restaurant cafe pizzeria
ice_cream_shop toy_shop pet_shop bookshop flower_shop candy_store grocery hardware_store supermarket mall theater
cinema circus carnival fairground amusement_park swimming_pool skating_rink stadium gym ballpark soccer_field
tennis_court sandbox merry-go-round maze orchard vineyard greenhouse pumpkin_patch cornfield wheat_field haystack
stable henhouse pigsty dairy mill well fountain statue town_square plaza courtyard alley street corner crossroads
tunnel canyon cliff riverbank shore bay lagoon reef marsh bog glade clearing grove thicket hedge lawn pasture
prairie savanna oasis dune volcano glacier iceberg igloo cottage cabin hut lodge inn mansion farmhouse attic
basement cellar garage workshop shed studio nursery classroom playroom bedroom bathroom living_room dining_room
hallway staircase balcony porch rooftop campsite picnic_table trail quarry mine planetarium aquarium observatory
gallery laboratory factory junkyard shipyard windmill watermill monastery ruins pyramid
"""
FOODS = """
cookies cake soup bread apples cheese milk pizza ice_cream candy berries honey carrots bananas pie juice eggs rice
sandwiches pancakes strawberries nuts corn grapes chocolate fish oranges pasta salad jam butter cereal popcorn
tomatoes potatoes beans peas cherries blueberries pears peaches plums lemons watermelon melon pineapple raspberries
blackberries mangoes coconuts figs dates raisins almonds peanuts walnuts seeds oats oatmeal porridge toast muffins
cupcakes donuts waffles biscuits crackers pretzels chips fries burgers hot_dogs sausages bacon ham chicken turkey
beef stew noodles spaghetti macaroni dumplings tacos burritos sushi curry lentils broccoli spinach lettuce cabbage
cauliflower cucumbers celery onions garlic mushrooms peppers pumpkin squash zucchini radishes beets turnips
asparagus artichokes sweet_potatoes gravy ketchup mustard syrup sugar cinnamon vanilla caramel toffee fudge
marshmallows lollipops jelly pudding custard yogurt cream lemonade tea cocoa smoothies milkshakes apple_sauce
gingerbread brownies tarts pastries croissants bagels rolls scones shortbread granola trail_mix
"""
TASTES = """
sweet yummy delicious good salty sour bitter tasty strange spicy fresh wonderful creamy crunchy fruity funny juicy
nutty awful smoky buttery minty rich sugary lemony crispy chewy tangy bland burnt rotten peppery cheesy savory stale
heavenly
"""
COLOURS = """
red blue green yellow pink purple orange white black brown gold silver gray violet turquoise scarlet golden crimson
lilac lavender teal maroon navy beige cream tan peach coral magenta indigo ivory amber bronze copper emerald ruby
mint rosy rainbow-colored
"""
# What a thing looks or feels like.
LOOKS = """
big little shiny small pretty old new beautiful special soft tiny round bright huge magic long warm fluffy colorful
heavy nice funny strange dirty smooth cold broken sparkly tall hard clean wet dark fancy pointy lovely giant fuzzy
wooden rough thick thin flat sharp sticky slippery squishy bumpy bouncy noisy loud quiet dusty muddy rusty dull
plain striped spotted dotted checkered furry fragile delicate sturdy strong weak light cozy comfy hot cool chilly
icy frozen fresh rotten ripe sweet sour salty bitter spicy tasty smelly fragrant stinky clear cloudy glittery
glowing twinkly dazzling gleaming polished curly wavy straight crooked bent twisted hollow empty full deep shallow
wide narrow enormous gigantic massive mighty immense miniature teeny petite slim chubby plump lumpy creamy crunchy
crispy crumbly chewy gooey velvety silky woolly feathery leafy grassy mossy sandy rocky stony glassy metal plastic
rubber paper cardboard leather cotton handmade homemade ancient antique modern rare common ordinary unusual unique
curious mysterious secret hidden precious expensive cheap valuable priceless perfect elegant graceful gorgeous
adorable cute ugly scary creepy spooky silly goofy wacky peculiar odd weird fantastic marvelous splendid magnificent
wonderful amazing awesome incredible extraordinary remarkable impressive royal noble festive cheerful gloomy dreary
faded torn ragged patched wrinkled crumpled folded knotted tangled loose tight stiff flexible stretchy springy
floppy droopy wobbly shaky steady speedy rapid sluggish harmless dangerous useful useless handy simple complicated
"""
TRAITS = """
little happy kind curious brave smart nice friendly good small young clever funny gentle playful shy silly quiet
sweet lazy careful cheerful honest helpful polite grumpy proud lonely stubborn energetic patient adventurous
thoughtful generous caring creative jolly wise loving merry eager lively hopeful humble selfish greedy naughty bossy
rude messy forgetful clumsy sleepy hungry fearless daring bold confident independent intelligent imaginative
talented hardworking determined busy calm peaceful relaxed sensible serious neat tidy obedient loyal faithful
trusting truthful sincere modest bashful timid nervous anxious worried restless impatient jealous envious boastful
vain sneaky cunning crafty mischievous cheeky bouncy bubbly chatty talkative noisy loud fussy picky moody cranky
crabby gloomy dreamy absent-minded inventive resourceful practical inquisitive observant alert watchful cautious
attentive affectionate tender warm-hearted compassionate considerate respectful responsible reliable dependable
graceful elegant athletic nimble quick strong sturdy tough mighty tiny chubby cuddly fluffy spotted striped freckled
ordinary unusual remarkable extraordinary
"""
GLAD = """
happy excited proud glad surprised better safe brave amazed thankful cheerful calm delighted joyful pleased grateful
hopeful relieved loved warm wonderful great strong content merry peaceful lucky special confident thrilled overjoyed
comfortable cozy fantastic jolly playful rested important helpful curious satisfied eager free welcome refreshed
marvelous terrific inspired determined courageous fearless ecstatic blissful elated gleeful tickled triumphant
"""
SAD = """
sad scared angry upset worried tired lonely afraid mad hungry sorry nervous lost confused cold disappointed grumpy
embarrassed bored ashamed frightened jealous guilty unhappy hurt alone puzzled cross frustrated shy anxious gloomy
terrible awful miserable weary sleepy dizzy thirsty uneasy helpless heartbroken homesick hopeless discouraged
restless annoyed impatient furious terrified startled bewildered troubled exhausted ignored glum blue tearful unsure
"""
# Adjectives that compare with -er and -est.
GRADED = """
big small fast tall pretty happy strong bright old young long shiny soft kind brave nice loud high smart funny warm
cold hot sweet heavy light dark quick slow deep wide short thick thin new cool clean dirty fluffy silly sleepy
hungry wise calm quiet safe sharp smooth rough tasty lovely cozy tiny tough rich poor fine fresh fuzzy grand great
green blue red round rare mighty merry messy neat noisy plump proud scary shy sour spooky steep sticky strange sunny
windy wild weird wet
"""
# Adjectives whose -ly form says how something is done: by anyone, by the glad and by the cross.
MANNERS = """
quick careful quiet slow soft gentle loud sudden proud kind brave nervous eager curious calm patient polite honest
bright silent playful graceful clumsy swift rapid lazy sleepy tired hungry thoughtful wise clever nice neat tight
light heavy deep safe busy desperate anxious frantic hasty immediate steady sure certain confident bold courageous
fearless timid shy bashful awkward strange mysterious secret sneaky serious solemn earnest casual cautious firm
clear rough smooth wild sharp quaint plain close direct complete
"""
WARM_MANNERS = """
happy excited proud kind cheerful soft warm gentle sweet joyful playful merry bright brave loud thankful grateful
hopeful jolly gleeful delighted wonderful beautiful perfect magical tender loving affectionate sincere wise patient
polite generous glad quiet marvelous splendid
"""
CROSS_MANNERS = """
angry loud mad rude greedy selfish proud fierce grumpy mean bossy naughty jealous bitter furious stubborn foolish
impatient gloomy wild tight firm sharp rough harsh crabby smug haughty cruel
"""
# Ways to go somewhere, for anyone; then what an animal is seen doing.
MOVES = """
walk run go hurry skip hop march race wander rush dash stroll tiptoe dance travel hike jog sprint trot bounce ride
stomp shuffle creep sneak scurry scamper scramble zoom whiz speed stride trudge plod amble saunter prance tramp
drift
"""
ANIMAL_MOVES = """
run jump hop fly swim climb walk dance crawl slide roll splash waddle leap gallop trot glide float paddle bounce
flutter swoop soar slither wriggle wiggle tumble scurry scamper scramble creep sneak strut charge bolt flee dive
plod whirl
"""
ANIMAL_DOES = """
bark growl purr squeak sneeze snore yawn stretch sleep nod sniff snort blink chirp hiss croak hoot roar sing hum
rest chew munch nibble drink listen sigh wink scratch shiver stare glare whimper grunt bellow cackle cluck honk
screech
"""
# Things that a child loves doing; the first word is the verb.
HOBBIES = """
play sing dance run draw read paint swim climb_trees play_outside bake explore ride_bikes fly_kites tell_stories
help play_with_toys pick_flowers look_at_stars chase_butterflies jump_in_puddles build_towers build_sandcastles
collect_shells collect_rocks collect_stamps play_hide-and-seek play_pretend dress_up cook dig_holes feed_the_birds
feed_the_ducks watch_the_clouds watch_the_rain count_things solve_puzzles write_letters write_poems make_music
make_jokes play_the_drums play_the_piano play_the_violin ride_horses roll_down_hills catch_frogs catch_fireflies
water_plants rake_leaves sew knit whistle juggle skip_rope hum skate ski sled surf fish camp hike garden whittle
dream daydream nap eat cuddle race wrestle giggle tickle splash gallop bounce gather_acorns gather_berries
polish_stones sort_buttons fold_paper carve_wood invent_games invent_machines fix_things take_pictures study_bugs
learn_words perform_tricks chase_bubbles blow_bubbles
"""
# What one does to a thing with the hands.
HANDLES = """
hold hug find touch take lift clean paint carry throw catch kick push pull shake open wash fix roll drop hide wrap
squeeze pat rub polish brush bounce spin turn stroke admire examine inspect study measure decorate repair mend sew
color draw trace collect gather borrow lend trade swap guard protect cover bury wipe dust sweep sprinkle soak rinse
scrub dry fold unfold stack balance toss grab grip clutch snatch poke tap knock press lick sniff taste nibble
"""
PEOPLE = """
farmer teacher baker doctor king queen princess prince policeman fireman neighbor shopkeeper wizard witch pirate
captain sailor gardener cook chef librarian mailman postman nurse dentist vet builder painter singer dancer clown
magician knight soldier driver pilot astronaut fisherman hunter shepherd woodcutter carpenter blacksmith miller
tailor shoemaker cobbler weaver potter jeweler clockmaker toymaker butcher grocer waiter waitress barber hairdresser
plumber electrician mechanic engineer scientist inventor explorer detective judge mayor guard zookeeper lifeguard
coach referee athlete gymnast juggler acrobat musician drummer pianist violinist poet writer artist sculptor
photographer reporter actor actress ballerina conductor janitor principal babysitter grandmother grandfather uncle
aunt cousin twin stranger traveler merchant peddler beggar hermit monk nun priest duke duchess emperor empress
jester minstrel squire beekeeper milkman lumberjack cowboy rancher miner diver skipper lighthouse_keeper park_ranger
bus_driver crossing_guard
"""
PARENTS = """
mom dad mommy daddy mother father grandma grandpa sister brother aunt uncle teacher mama papa granny cousin
"""
PLANTS = """
tree flower bush rose daisy tulip sunflower oak pine apple_tree vine fern cactus mushroom willow maple daffodil lily
dandelion clover violet pansy poppy buttercup bluebell snowdrop crocus iris orchid lavender marigold petunia
carnation geranium hyacinth peony lilac lotus water_lily ivy holly birch elm ash beech cedar fir spruce palm poplar
chestnut hazel walnut_tree cherry_tree pear_tree plum_tree lemon_tree orange_tree fig_tree rosebush blackberry_bush
strawberry thistle nettle toadstool reed sapling
"""
SIGHTS = """
cloud rainbow star moon river bridge fence gate puddle hill rock road sign wall tower nest cave tunnel bench
fountain windmill barn scarecrow haystack tractor bus train boat ship truck van wagon cart carriage airplane
hot-air_balloon kite lighthouse castle church cottage cabin tent campfire chimney roof window door stairway ladder
well pond stream waterfall lake island cliff mountain volcano glacier snowdrift log stump anthill beehive spiderweb
burrow footprint shadow reflection statue market_stall parade band clock_tower bonfire firework shooting_star comet
planet sunrise sunset storm lightning_bolt snowman scooter bicycle police_car fire_engine garbage_truck crane digger
"""
GAMES = """
tag hide-and-seek catch soccer ball hopscotch pretend chess checkers cards marbles house dress-up baseball
basketball football tennis badminton hockey volleyball leapfrog jump_rope follow-the-leader freeze_tag
musical_chairs charades dominoes tug-of-war pirates explorers doctors teachers superheroes cowboys spies astronauts
knights detectives
"""
CONTAINERS = """
box bag basket jar drawer chest bucket pocket cup bowl cupboard suitcase backpack bottle trunk crate barrel sack can
pouch purse envelope wardrobe closet cabinet shoebox lunchbox toolbox flowerpot vase tin carton hamper locker
"""
MATERIALS = """
wood paper glass gold silver stone clay wool sand snow ice metal plastic cardboard cotton leather rubber silk straw
copper bronze iron steel marble crystal wax rope string yarn felt velvet lace bamboo brick cork foil
"""
SMELLS = """
flowers cookies honey apples roses cinnamon vanilla chocolate lemons rain grass pine lavender bread popcorn soap
mint oranges strawberries smoke the_sea hay wet_dogs fish cheese ginger nutmeg cloves pumpkin_pie peppermint jasmine
lilacs
"""
THEMES = """
dragons princesses pirates animals dinosaurs knights fairies monsters robots the_moon the_sea space ghosts treasure
castles wizards witches giants mermaids unicorns superheroes heroes explorers trains ships bears wolves whales
elephants kings queens elves gnomes trolls jungles islands volcanoes planets rockets stars detectives spies cowboys
inventors vikings pharaohs gladiators samurai penguins butterflies bees spiders owls snow
"""
INSTRUMENTS = """
drum piano guitar flute violin trumpet whistle harp bell horn tambourine banjo cello clarinet saxophone trombone
tuba accordion harmonica xylophone ukulele recorder fiddle organ oboe bassoon mandolin bagpipes triangle
"""
WEATHERS = """
sunny rainy hot windy cold warm snowy cloudy beautiful bright stormy foggy nice lovely chilly gray misty perfect
quiet dark crisp breezy frosty icy gloomy humid clear mild muggy drizzly blustery scorching freezing golden dreary
"""
TIMES = """
day morning afternoon evening night weekend Saturday Sunday summer spring winter autumn Monday Friday Tuesday
Wednesday Thursday
"""
AGES = "three five four six seven eight ten nine two eleven twelve"
MONTHS = "June May December July April March October September August January November February"
BODY = """
head nose hand foot leg arm ear eye tummy knee finger toe tail cheek chin elbow shoulder back neck tooth mouth hair
ankle wrist thumb heel forehead belly chest
"""
COUNTS = """
three two four five six ten seven eight nine twelve eleven twenty thirteen fifteen fourteen sixteen thirty eighteen
fifty forty nineteen seventeen sixty ninety eighty seventy
"""
VIRTUES = """
kind brave honest patient careful helpful generous polite thankful fair humble gentle curious responsible hopeful
loyal truthful thoughtful respectful forgiving hardworking creative determined unselfish cheerful considerate
understanding compassionate tolerant persistent
"""
VIRTUE_NOUNS = """
kindness friendship honesty sharing love patience courage bravery teamwork trust helping hope truth family
generosity curiosity respect gratitude forgiveness practice imagination politeness fairness hard_work responsibility
loyalty perseverance creativity humility gentleness joy laughter wisdom thoughtfulness compassion determination
"""
SAID = """
said asked replied shouted cried whispered answered called yelled laughed exclaimed giggled smiled explained added
agreed sighed begged sobbed cheered squeaked mumbled suggested muttered announced promised declared chuckled gasped
murmured croaked chirped roared purred growled wondered insisted admitted squealed boasted warned grumbled moaned
wailed whimpered sniffled hissed bellowed joked teased urged stammered
"""
WOWS = """
wow oh_no yay look hooray oh hey yes hello thank_you oh_my hi ouch help great please wait goodness stop good_morning
hurray oops amazing yippee goody uh-oh whee surprise bravo phew gosh yum careful golly aha brr ooh yuck whoa
good_evening woohoo eek ahoy yikes ta-da gee hurrah oh_dear fantastic wonderful incredible
"""
SOUNDS = """
splash boom pop crash whoosh bang thump ding crack beep bump buzz woof meow knock click plop squeak tweet zoom
rattle clang snap swish ring quack moo oink ribbit roar hoot croak chirp growl hiss rumble rustle sizzle crunch
munch slurp gulp burp achoo snore tick tock toot honk vroom clip clop clink jingle jangle whirr hum drip drop pitter
patter creak squelch slosh thud wham zap ping bonk boing kaboom squish flop flutter whack screech clatter clunk
"""
# Sounds that are held: the letter before the dot comes again and again.
LONG_SOUNDS = """
so. no. who.sh yea.y wa.h hoo.ray roa.r moo. bu.zz aa.h ee.k whee. boi.ng yum. zoo.m oo.h brr. ahh. hmm. wow. woo.f
plea.se he.lp hel.lo he.y swoo.sh me. goo.d ye.s sto.p wai.t loo.k shh. grr. wee. baa. meo.w quaa.ck hi.ss
"""
NOISES = "noise sound bang crash rumble thump knock growl cry whisper howl roar splash creak boom rattle"
MAGIC = """
fairy genie wizard witch elf mermaid dragon giant gnome troll goblin monster ghost unicorn pixie ogre sprite imp
"""
MEASURES = "steps inches feet minutes seconds hops jumps yards meters miles noses"
PETS = "dog cat rabbit puppy kitten hamster parrot fish turtle goldfish frog pony canary guinea_pig mouse lizard"

# Parts of invented words. A made-up name is an opening, sometimes a middle, and an ending; a compound, two real words.
NAME_OPENINGS = """
Lu Ma El Mi Zo Ka Ro Ben Pip Tal Al Fi Bo No Ti Sa Da Wil Fen Mo Ori Zel Jo Har Len Bri Kel Tam Ol Vi Gri Nim Dor
Pel Quin Ser Tor Ul Van Wen Yo Zan Ash Bel Cor Dax Em Fro Gil Hob Isi Jun Kip Lor Mer Nel Ondo Per Rin Sul Trin Umbo
Ve Wim Xan Yar Zub Flo Gla Plu Snor Twi Cra Dri Gro Sno Squi Stel Thal Bram Clem Drum Fizz Glim Jing Kno Mum Nob
Puck
"""
NAME_MIDDLES = """
a i o la li ra ri na ni de do mi be to bi ga le lo ma mo no pa pi ro sa ta ti vi wa zi ber den fin mel
"""
NAME_ENDINGS = """
a ie y o la na ra lin bert ley ton my ny sy do ka mia rie belle dora wick low kin bo by dy lo zo nor dell rick mund
fred win wyn ette ina ora elle iel ian io us is os ix ax ick uck ble dle gle kle ple ster mer der ber per
"""
TOWN_OPENINGS = """
Green Oak River Willow Maple Sunny Pine Apple Spring Meadow Stone Rose Hill Brook Cherry Silver Golden Moon Star
Honey Clover Fox Bear Rabbit Swan Robin Eagle Otter Badger Hazel Elm Birch Ash Thorn Bramble Fern Moss Heather Lily
Daisy Winter Summer Snow Frost Rain Cloud Storm Wind Sand Shell Sea Lake Pond Mill Bridge Castle King Queen Bell
Candle Lantern Copper Iron Amber Crystal Pepper Ginger Butter Pumpkin Berry Plum Pear Acorn Walnut Puddle Bumble
Thistle Crumble
"""
TOWN_ENDINGS = """
ville town field dale wood brook ford ton bury port land hill side view ham shire mouth haven bridge well stead
worth ridge cliff bay hollow gate moor combe den ley thorpe wick crest grove marsh mere glen bank beck
"""
COMPOUND_OPENINGS = """
sun moon star rain snow wind sea sky fire water tree leaf flower honey butter sugar apple berry nut corn bean bread
cake jelly candy pepper mud sand rock stone shell wood gold silver iron paper glass wool feather fluff fuzz bubble
puddle giggle wiggle tickle sparkle twinkle glitter bumble jingle rumble tumble whisper dream sleep night morning
winter summer spring storm thunder cloud mist frost ice ember ash dust shadow rainbow bug bee frog toad fish bird
duck goose mouse cat dog fox bear wolf horse cow pig goat sheep owl crow snail worm hat shoe sock mitten button
ribbon bell drum horn pocket kettle spoon teapot pickle noodle pancake muffin biscuit pumpkin turnip carrot cabbage
radish mango lemon
"""
COMPOUND_ENDINGS = """
berry flower bird fish bug bean cake boat hat box stone bell light house tree seed nut root leaf pie pop stick drop
ball wheel horn drum shoe cap coat bag jar pot cup spoon brush pen book song tail wing paw nose whisker foot fluff
puff snap crackle fizz bubble burst dust spark glow beam shine shade cloud storm flake cicle pond patch bush moss
fern cat dog mouse frog bear fox owl worm moth hopper runner jumper maker keeper catcher finder walker singer dancer
sniffer snuffler tickler wobbler doodle noodle dumpling muffin pudding toffee jam juice syrup soup stew
"""


def listed(words: str) -> list[str]:
    """Return the words of one of the lists above, in order, each once."""
    return list(dict.fromkeys(word.replace("_", " ") for word in words.split()))
